"""What a version's trials and rollouts come to: pass@k, capability gaps, partial rewards, preference, exports."""

from typing import Any

import pytest

from tests.schema.asking import ask
from tests.schema.documents import REPORTS
from tests.schema.world import World


def expected_exports(of_version: str) -> list[dict[str, Any]]:
    names = ["rollouts-all", "rollouts-successful", "rollouts-failed", "rollouts-recovery", "preferences"]
    kinds = ["all", "successful", "failed", "recovery", "preference"]
    shapes = [("atif-shaped", "atif", "openai-messages")] * 4 + [("preference-pair", "trl")]
    expected = []
    for kind, name, (default, *others) in zip(kinds, names, shapes, strict=True):
        url, filename = f"/api/v1/rollouts?kind={kind}{of_version}", f"agentforge-{name}"
        formats = [(default, url, f"{filename}.jsonl")]
        formats += [(other, f"{url}&format={other}", f"{filename}-{other}.jsonl") for other in others]
        shown = [dict(zip(("name", "url", "filename"), one, strict=True)) for one in formats]
        expected.append({"kind": kind.upper(), "url": url, "filename": f"{filename}.jsonl", "formats": shown})
    return expected


async def test_reports_of_a_version(world: World) -> None:
    version, (first, second) = world.versions[0], world.runs[:2]
    answered = await ask(world.tenant, REPORTS, id=str(version.id))
    report = answered["environmentVersion"]
    # The mean of both runs' own estimates, 1/7 and 1/2; only one of them has three attempts.
    assert report["passAtK"][0] == {"k": 1, "estimate": pytest.approx(9 / 28), "passHatK": pytest.approx(9 / 28)}
    assert report["passAtK"][2] == {"k": 3, "estimate": pytest.approx(3 / 7), "passHatK": 0}
    gaps = [
        {"failureCategory": "checkout_incomplete", "trials": 2, "latestTrial": {"id": str(first.trials[2].row.id)}},
        {"failureCategory": "agent_crashed", "trials": 1, "latestTrial": {"id": str(first.trials[3].row.id)}},
        {"failureCategory": "agent_timeout", "trials": 1, "latestTrial": {"id": str(first.trials[4].row.id)}},
        {"failureCategory": "step_limit", "trials": 1, "latestTrial": {"id": str(second.trials[1].row.id)}},
        {"failureCategory": "worker_lost", "trials": 1, "latestTrial": {"id": str(first.trials[6].row.id)}},
    ]
    assert report["capabilityGaps"] == {"trials": 9, "categorized": 6, "gaps": gaps}
    assert answered["capabilityGaps"] == {
        "trials": 9,
        "categorized": 6,
        "gaps": [{"failureCategory": gap["failureCategory"]} for gap in gaps],
    }
    assert report["partialRewards"] == answered["partialRewards"] == [
        {"stage": "stage_checkout", "trials": 2, "mean": 0.5, "min": 0, "max": 1, "full": 1},
        {"stage": "stage_inventory", "trials": 5, "mean": 0.55, "min": 0, "max": 1, "full": 2},
    ]  # fmt: skip
    best, worst = second.trials[0].rollout, first.trials[2].rollout
    assert best is not None
    assert worst is not None
    assert report["preference"] == {
        "preferredReward": 1.0,
        "rejectedReward": 0.0,
        "preferred": {"id": str(best.id)},
        "rejected": {"id": str(worst.id)},
    }
    assert report["exports"] == expected_exports(f"&environmentVersionId={version.id}")
    assert answered["viewer"]["organization"]["exports"] == expected_exports("")


async def test_a_version_without_runs_reports_nothing(world: World) -> None:
    report = (await ask(world.tenant, REPORTS, id=str(world.versions[2].id)))["environmentVersion"]
    assert (report["passAtK"], report["partialRewards"], report["preference"]) == ([], [], None)
    assert report["capabilityGaps"] == {"trials": 0, "categorized": 0, "gaps": []}


async def test_where_scores_do_not_differ_nothing_is_preferred(world: World) -> None:
    report = (await ask(world.tenant, REPORTS, id=str(world.versions[3].id)))["environmentVersion"]
    assert report["preference"] is None
