"""Values that no filter can have are refused in clear words; ids that name nothing find nothing."""

import pytest

from tests.schema.asking import UNKNOWN, ask, refusals
from tests.schema.filter_model import CREATED, REPORT_FILTER, ROLLOUT_FILTER, RUN_FILTER, TRIAL_FILTER
from tests.schema.world import World

LISTED = {
    "evaluationRuns": ("EvaluationRunFilter", "totalCount", RUN_FILTER),
    "evaluationTrials": ("EvaluationTrialFilter", "totalCount", TRIAL_FILTER),
    "rollouts": ("RolloutFilter", "totalCount", ROLLOUT_FILTER),
    "capabilityGaps": ("CapabilityGapFilter", "trials", REPORT_FILTER),
    "partialRewards": ("PartialRewardFilter", "trials", REPORT_FILTER),
}
OUT_OF_RANGE = ["9999-12-31T23:59:59-14:00", "0001-01-01T00:00:00+14:00"]
WRONG_IDS = ["", "nope", "\0", "\ud800", UNKNOWN[:-1], UNKNOWN.replace("-", ""), f"{{{UNKNOWN}}}", f" {UNKNOWN}"]


async def test_values_that_no_filter_can_have_are_refused_before_any_statement(
    world: World, statements: list[str], subtests: pytest.Subtests
) -> None:
    statements.clear()
    for listed, (kind, selected, fields) in LISTED.items():
        text = f"query($filter: {kind}) {{ {listed}(filter: $filter) {{ {selected} }} }}"
        wrong = {name: WRONG_IDS for name in fields if name.endswith("Id")} | {
            name: ["2026-01-01T00:00:00", "2026-01-01", *OUT_OF_RANGE] for name in CREATED
        }
        for name, value in [(name, value) for name, values in wrong.items() for value in values]:
            with subtests.test(f"{listed} {name} {value!r}"):
                (error,) = await refusals(world.tenant, text, filter={name: value})
                assert error["extensions"] == {"code": "INVALID_INPUT", "field": ["filter", name]}
                assert "Something went wrong" not in error["message"]
    assert statements == []


async def test_text_that_no_column_holds_is_refused(
    world: World, statements: list[str], subtests: pytest.Subtests
) -> None:
    text = "query($filter: EvaluationTrialFilter) { evaluationTrials(filter: $filter) { totalCount } }"
    statements.clear()
    for value in ("\0", "\ud800"):
        for name, given_value in (("stage", value), ("failureCategory", ["step_limit", value])):
            with subtests.test(f"{name} {value!r}"):
                (error,) = await refusals(world.tenant, text, filter={name: given_value})
                assert error["extensions"] == {"code": "INVALID_INPUT", "field": ["filter", name]}
    assert statements == []


async def test_a_search_without_a_word_is_refused(
    world: World, statements: list[str], subtests: pytest.Subtests
) -> None:
    text = "query($filter: EvaluationTrialFilter) { evaluationTrials(filter: $filter) { totalCount } }"
    statements.clear()
    for value in ("", " ", "\t\n", "-", '""', "!? \u2028", "a\0", "a\ud800", "a" * 1001):
        with subtests.test(repr(value)[:20]):
            (error,) = await refusals(world.tenant, text, filter={"text": value})
            assert error["extensions"] == {"code": "INVALID_INPUT", "field": ["filter", "text"]}
            assert "Something went wrong" not in error["message"]
    assert statements == []
    for value in ("a" * 1000, "\U0001f642 or", "²"):
        assert (await ask(world.tenant, text, filter={"text": value}))["evaluationTrials"] == {"totalCount": 0}


async def test_a_moment_may_be_written_with_any_offset(world: World) -> None:
    text = "query($filter: EvaluationRunFilter) { evaluationRuns(filter: $filter) { totalCount } }"
    for early, late in (
        ("2000-01-01T00:00:00Z", "2999-01-01T00:00:00+14:00"),
        ("1999-12-31T23:00-01:00", "2999-01-01T00Z"),
    ):
        answered = await ask(world.tenant, text, filter={"createdAfter": early, "createdBefore": late})
        assert answered["evaluationRuns"]["totalCount"] == len(world.runs)


async def test_ids_that_name_nothing_find_nothing(
    world: World, statements: list[str], subtests: pytest.Subtests
) -> None:
    for field in ("node", "environmentVersion", "evaluationRun", "evaluationTrial", "rollout"):
        with subtests.test(field):
            statements.clear()
            for wrong in WRONG_IDS:
                assert await ask(world.tenant, f"query($id: ID!) {{ {field}(id: $id) {{ id }} }}", id=wrong) == {
                    field: None
                }
            assert statements == []
            assert await ask(world.tenant, f"query($id: ID!) {{ {field}(id: $id) {{ id }} }}", id=UNKNOWN) == {
                field: None
            }
    for slug in ("", "no", "\0", "A", "a" * 1000, "ä", "mail\n"):
        assert await ask(world.tenant, "query($s: String!) { environment(slug: $s) { id } }", s=slug) == {
            "environment": None
        }
