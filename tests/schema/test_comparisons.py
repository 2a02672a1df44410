"""Attempts side by side: what they came to, and where they first did not do the same."""

from collections.abc import Sequence
from typing import Any
from uuid import uuid4

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from db.tenant import Tenant
from resolvers.comparisons import FIRST_BLOCK, NEXT_BLOCK
from tests.factory import Attempt, create_run, create_version, step
from tests.schema.asking import UNKNOWN, ask, refusals
from tests.schema.documents import COMPARISON
from tests.schema.world import World, build_world

DIVERGENCE = "query($ids: [ID!]!) { compareTrials(ids: $ids) { firstDivergence { step actions { tool command } } } }"
ONCE = ["artifacts.by_ids", "trials.by_ids"]

Actions = Sequence[tuple[str, str]]


async def attempts(tenant: Tenant, trajectories: Sequence[Actions | None]) -> list[str]:
    """The ids of trials of one run that did this; of None a trial that has not even begun."""
    version = await create_version(tenant, task=str(uuid4()))
    outcomes = [
        Attempt(None, "queued")
        if actions is None
        else Attempt(1.0, steps=[step(1, tool, command, f"of {number}") for tool, command in actions])
        for number, actions in enumerate(trajectories)
    ]
    _, created = await create_run(tenant, version, outcomes, status="running")
    return [str(trial.id) for trial in created]


def expected(trajectories: Sequence[Actions | None]) -> dict[str, Any] | None:
    """The model: walk along all of them until they part."""
    taken = [list(actions or ()) for actions in trajectories]
    for position in range(max(map(len, taken))):
        here = [actions[position] if position < len(actions) else None for actions in taken]
        if len(set(here)) > 1:
            shown = [action and {"tool": action[0], "command": action[1]} for action in here]
            return {"step": position + 1, "actions": shown}
    return None


async def divergence(tenant: Tenant, ids: Sequence[str]) -> Any:
    return (await ask(tenant, DIVERGENCE, ids=ids))["compareTrials"]["firstDivergence"]


async def test_what_attempts_came_to_stands_in_the_order_asked_for(world: World) -> None:
    run = world.runs[0]
    chosen = [run.trials[4], run.trials[0], world.runs[1].trials[0], run.trials[3]]
    compared = (await ask(world.tenant, COMPARISON, ids=[str(one.row.id) for one in chosen]))["compareTrials"]
    assert compared["environmentVersion"] == {"id": str(run.version.id)}
    for shown, trial in zip(compared["trials"], chosen, strict=True):
        assert trial.row.started_at is not None
        assert trial.row.finished_at is not None
        assert shown == {
            "trial": {"id": str(trial.row.id)},
            "reward": trial.outcome.reward,
            "durationSeconds": (trial.row.finished_at - trial.row.started_at).total_seconds(),
            "stepCount": len(trial.outcome.steps),
        }
    assert compared["stages"] == [
        {"name": "stage_inventory", "values": [0.25, 1, 1, None]},
        {"name": "stage_checkout", "values": [None, 1, None, None]},
    ]
    assert compared["firstDivergence"] == {
        "step": 1,
        "actions": [None, {"tool": "mcp", "command": "initialize"}, None, None],
    }


async def test_attempts_that_have_not_ended_can_be_compared(world: World) -> None:
    ids = [str(trial.row.id) for trial in world.runs[2].trials]
    compared = (await ask(world.tenant, COMPARISON, ids=ids))["compareTrials"]
    assert [(one["durationSeconds"], one["stepCount"]) for one in compared["trials"][1:]] == [(None, 0)] * 2
    assert (compared["stages"], compared["firstDivergence"]) == ([], None)


SAME = [("call", f"command {number}") for number in range(3 * NEXT_BLOCK)]
OTHER = ("call", "something else")
#: Positions at both sides of every border between parts and between what is read at once.
BORDERS = [1, 2, 99, 100, 101, 102, FIRST_BLOCK + NEXT_BLOCK, FIRST_BLOCK + NEXT_BLOCK + 1, 3 * NEXT_BLOCK]


@pytest.mark.parametrize("position", BORDERS)
async def test_attempts_part_at_any_position(acme: Tenant, position: int) -> None:
    changed = [*SAME[: position - 1], OTHER, *SAME[position:]]
    for trajectories in ([SAME, changed], [SAME, SAME, SAME[: position - 1]], [changed, SAME[: position - 1]]):
        found = await divergence(acme, await attempts(acme, trajectories))
        assert found == expected(trajectories)
        assert found["step"] == position
        ended = found["actions"].count(None)
        assert ended == sum(len(actions) < position for actions in trajectories)


async def test_attempts_that_did_the_same_never_part(acme: Tenant) -> None:
    same: list[list[Actions | None]] = [[SAME] * 8, [SAME[:100]] * 2, [[], []], [None, None], [None, []]]
    for trajectories in same:
        assert await divergence(acme, await attempts(acme, trajectories)) is None


FEW = st.lists(st.tuples(st.sampled_from(["mcp", "\0"]), st.sampled_from(["a", "\ud800", "é"])), max_size=3)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(FEW | st.none(), min_size=2, max_size=8))
async def test_any_attempts_part_where_the_model_says(acme: Tenant, trajectories: list[Actions | None]) -> None:
    assert await divergence(acme, await attempts(acme, trajectories)) == expected(trajectories)


async def test_no_more_steps_are_read_than_it_takes(acme: Tenant, statements: list[str]) -> None:
    at_once = await attempts(acme, [SAME, [OTHER, *SAME]])
    late = await attempts(acme, [SAME, [*SAME[:FIRST_BLOCK], OTHER]] + [SAME] * 6)
    never = await attempts(acme, [SAME, SAME])
    for ids, blocks in ((at_once, 1), (late, 2), (never, 4)):
        statements.clear()
        await ask(acme, COMPARISON, ids=ids)
        assert sorted(statements) == sorted([*ONCE, *["artifacts.steps"] * blocks, "versions.by_ids"])
    statements.clear()
    await ask(acme, "query($ids: [ID!]!) { compareTrials(ids: $ids) { stages { name } } }", ids=never)
    assert sorted(statements) == ONCE


async def test_how_many_can_be_compared(world: World, statements: list[str], subtests: pytest.Subtests) -> None:
    ids = [str(trial.row.id) for run in world.runs[:2] for trial in run.trials]
    statements.clear()
    for count in (0, 1, 9):
        with subtests.test(str(count)):
            (error,) = await refusals(world.tenant, DIVERGENCE, ids=ids[:count])
            assert error["message"] == f"{count} trials were given; 2 to 8 can be compared."
            assert error["extensions"] == {"code": "INVALID_INPUT", "field": ["ids"]}
    for twice in ([ids[0], ids[0]], [ids[0], ids[1], ids[0].upper()]):
        (error,) = await refusals(world.tenant, DIVERGENCE, ids=twice)
        assert error["message"] == "A trial is given twice."
        assert error["extensions"] == {"code": "INVALID_INPUT", "field": ["ids"]}
    assert statements == []
    assert await divergence(world.tenant, ids[:8])


async def test_trials_of_different_versions_are_refused(world: World) -> None:
    ids = [str(world.runs[index].trials[0].row.id) for index in (0, 2)]
    (error,) = await refusals(world.tenant, DIVERGENCE, ids=ids)
    assert error["message"] == "Only trials of one environment version can be compared."
    assert error["extensions"] == {"code": "INVALID_INPUT", "field": ["ids"]}


async def test_another_organization_s_trials_are_like_unknown_ones(
    world: World, rival: Tenant, subtests: pytest.Subtests
) -> None:
    other = await build_world(rival)
    ours, theirs = ([str(trial.row.id) for trial in one.trials] for one in (world, other))
    (unknown,) = await refusals(world.tenant, COMPARISON, ids=[ours[0], UNKNOWN])
    assert unknown["message"] == "There is no such evaluation trial."
    assert unknown["extensions"] == {"code": "NOT_FOUND"}
    odd = ["", "nope", "\0", "\ud800", UNKNOWN[:-1], str(world.runs[0].row.id), theirs[0]]
    for ids in ([ours[0], one] for one in odd):
        with subtests.test(repr(ids[1])):
            assert await refusals(world.tenant, COMPARISON, ids=ids) == [unknown]
    assert await refusals(world.tenant, COMPARISON, ids=theirs[:2]) == [unknown]
    assert str(await ask(rival, COMPARISON, ids=theirs[:2])).count("'id'") == 3
