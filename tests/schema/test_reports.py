"""What a version's trials and rollouts come to: pass@k, capability gaps, partial rewards, preference, exports."""

import pytest

from tests.schema.asking import ask
from tests.schema.documents import REPORTS
from tests.schema.world import World


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
    names = ["rollouts-all", "rollouts-successful", "rollouts-failed", "rollouts-recovery", "preferences"]
    kinds = ["all", "successful", "failed", "recovery", "preference"]
    shapes = [("atif-shaped", "atif", "openai-messages")] * 4 + [("preference-pair", "trl")]
    for export, kind, name, (default, *others) in zip(report["exports"], kinds, names, shapes, strict=True):
        url, filename = f"/api/v1/rollouts?kind={kind}&environmentVersionId={version.id}", f"agentforge-{name}"
        assert export == {
            "kind": kind.upper(),
            "url": url,
            "filename": f"{filename}.jsonl",
            "formats": [
                {"name": default, "url": url, "filename": f"{filename}.jsonl"},
                *(
                    {"name": other, "url": f"{url}&format={other}", "filename": f"{filename}-{other}.jsonl"}
                    for other in others
                ),
            ],
        }


async def test_a_version_without_runs_reports_nothing(world: World) -> None:
    report = (await ask(world.tenant, REPORTS, id=str(world.versions[2].id)))["environmentVersion"]
    assert (report["passAtK"], report["partialRewards"], report["preference"]) == ([], [], None)
    assert report["capabilityGaps"] == {"trials": 0, "categorized": 0, "gaps": []}


async def test_where_scores_do_not_differ_nothing_is_preferred(world: World) -> None:
    report = (await ask(world.tenant, REPORTS, id=str(world.versions[3].id)))["environmentVersion"]
    assert report["preference"] is None
