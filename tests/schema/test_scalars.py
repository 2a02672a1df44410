"""Numbers and moments come out as they went in."""

import json
import math
from datetime import UTC, datetime, timedelta, timezone

import pytest

from db.tenant import Tenant
from tests.schema.asking import UNKNOWN, ask, execute, nodes
from tests.schema.world import Outcome, World, add_run, small_world

SEEDS = [0, 2**31, 2**53 + 1, 2**63 - 1, -(2**63)]
NOT_SEEDS = [2**63, -(2**63) - 1, 10**400, 1.5, True, "abc", "", " 5 ", "1_0", "٣", "9" * 5000, "0x10", "1e3", [], {}]
STARTED = "{ __typename ... on EvaluationRun { seed trials { seed } } ... on Problem { message } }"
START = f"""mutation($version: ID!, $by: ID!, $seed: BigInt) {{ startEvaluation(
  input: {{ environmentVersionId: $version, evaluatorConfigurationId: $by, seed: $seed }}) {STARTED} }}"""


def with_literal(version: str, by: str, literal: str) -> str:
    given = f'environmentVersionId: "{version}", evaluatorConfigurationId: "{by}", seed: {literal}'
    return f"mutation {{ startEvaluation(input: {{ {given} }}) {STARTED} }}"


async def test_seeds_of_64_bits_are_exact_both_ways(acme: Tenant) -> None:
    world = await small_world(acme)
    version, by = str(world.versions[0].id), str(world.configurations[0].id)
    for seed in SEEDS:
        expected = {"__typename": "EvaluationRun", "seed": str(seed), "trials": [{"seed": str(seed)}] * 8}
        for given in (seed, str(seed)):
            assert await ask(acme, START, version=version, by=by, seed=given) == {"startEvaluation": expected}
        for literal in (str(seed), f'"{seed}"'):
            assert await ask(acme, with_literal(version, by, literal)) == {"startEvaluation": expected}
    answered = await ask(acme, "{ evaluationRuns(orderBy: OLDEST) { edges { node { seed } } } }")
    assert [node["seed"] for node in nodes(answered["evaluationRuns"])] == [str(s) for s in SEEDS for _ in range(4)]


async def test_without_a_seed_the_world_is_that_of_seed_0(acme: Tenant) -> None:
    world = await small_world(acme)
    version, by = str(world.versions[0].id), str(world.configurations[0].id)
    for answered in (
        await ask(acme, with_literal(version, by, "null")),
        await ask(acme, START, version=version, by=by),
        await ask(acme, START, version=version, by=by, seed=None),
    ):
        assert answered["startEvaluation"]["seed"] == "0"


async def test_what_is_no_seed_is_refused_in_clear_words(
    acme: Tenant, statements: list[str], subtests: pytest.Subtests
) -> None:
    statements.clear()
    for seed in NOT_SEEDS:
        with subtests.test(f"{seed!r:.40}"):
            text = with_literal(UNKNOWN, UNKNOWN, "{}" if seed == {} else json.dumps(seed))
            for result in (
                await execute(acme, START, version=UNKNOWN, by=UNKNOWN, seed=seed),
                await execute(acme, text),
            ):
                assert result.errors
                (error,) = result.errors
                assert "is not a BigInt" in error.message
                assert len(error.message) < 250
    assert statements == []


async def test_rewards_stages_and_bounds_keep_their_last_digit(acme: Tenant) -> None:
    rewards = [0.1 + 0.2, 0.9299999, 1 / 3, 5e-324, 1 - 2**-53, math.nextafter(0, 1), 0.30000000000000004, 1e-300]
    world = await small_world(acme)
    outcomes = [Outcome(reward, stages={"stage_a": reward}, metrics={"reward": reward}) for reward in rewards]
    await add_run(world, world.versions[0], world.configurations[0], outcomes)
    text = """query($least: Float) { evaluationTrials(orderBy: OLDEST, filter: { rewardAtLeast: $least }) {
      edges { node { reward metrics stages { value } rollout { reward } } } } }"""
    answered = nodes((await ask(acme, text))["evaluationTrials"])
    assert [repr(node["reward"]) for node in answered] == list(map(repr, rewards))
    assert [node["stages"][0]["value"] for node in answered] == rewards
    assert [node["rollout"]["reward"] for node in answered] == rewards
    assert [node["metrics"]["reward"] for node in answered] == rewards
    above = nodes((await ask(acme, text, least=1 - 2**-53))["evaluationTrials"])
    assert [node["reward"] for node in above] == [1 - 2**-53]


async def test_a_bound_that_is_no_number_is_refused_in_clear_words(acme: Tenant) -> None:
    text = "query($least: Float) { evaluationTrials(filter: { rewardAtLeast: $least }) { totalCount } }"
    for wrong in (math.nan, math.inf, 10**400, "1", True):
        result = await execute(acme, text, least=wrong)
        assert result.errors
        assert "Float cannot represent non numeric value" in result.errors[0].message


async def test_moments_carry_their_offset(world: World) -> None:
    text = "{ evaluationRuns { edges { node { createdAt startedAt finishedAt } } } }"
    for node in nodes((await ask(world.tenant, text))["evaluationRuns"]):
        for told in filter(None, node.values()):
            assert datetime.fromisoformat(told).utcoffset() == timedelta(0)
    assert datetime.now(UTC) - datetime.fromisoformat(node["createdAt"]) < timedelta(minutes=5)


async def test_a_moment_is_the_same_with_another_offset(world: World) -> None:
    text = "query($at: DateTime) { evaluationRuns(filter: { createdBefore: $at }) { totalCount } }"
    third = world.runs[2].row.created_at
    for hours in (-11, 0, 5.5, 14):
        there = third.astimezone(timezone(timedelta(hours=hours)))
        assert (await ask(world.tenant, text, at=there.isoformat()))["evaluationRuns"]["totalCount"] == 2


async def test_what_is_no_moment_is_refused_in_clear_words(acme: Tenant, statements: list[str]) -> None:
    text = "query($at: DateTime) { evaluationRuns(filter: { createdBefore: $at }) { totalCount } }"
    statements.clear()
    wrongs: list[object] = [5, True, "", "yesterday", "2026-13-01T00:00:00Z", {}]
    for wrong in wrongs:
        result = await execute(acme, text, at=wrong)
        assert result.errors
        assert "Value cannot represent a DateTime" in result.errors[0].message
    assert statements == []
