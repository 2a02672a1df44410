"""pass@k and pass^k against published results, and against counting every choice of k attempts."""

import json
from collections import defaultdict
from itertools import combinations
from pathlib import Path
from statistics import mean

import pytest
from hypothesis import given
from hypothesis import strategies as st

from resolvers.pass_at_k import PassAtK, decode, encode, no_estimate, pass_at_k

AIRLINE = Path(__file__).parent.parent / "data" / "tau_bench_airline.json"
COUNTS = st.integers(1, 8).flatmap(lambda attempts: st.tuples(st.just(attempts), st.integers(0, attempts)))


def estimates(attempts: int, passed: int) -> list[tuple[float, float]]:
    found = pass_at_k(attempts, passed)
    assert [one.k for one in found] == list(range(1, attempts + 1))
    pairs = [(one.estimate, one.pass_hat_k) for one in found]
    return [(at, hat) for at, hat in pairs if at is not None and hat is not None]


def test_the_airline_slice_of_tau_bench() -> None:
    passed: defaultdict[int, list[bool]] = defaultdict(list)
    for attempt in json.loads(AIRLINE.read_text("utf-8"))["attempts"]:
        passed[attempt["task_id"]].append(attempt["reward"] == 1)
    assert [len(trials) for trials in passed.values()] == [4] * 12
    by_task = [estimates(len(trials), sum(trials)) for trials in passed.values()]
    # The mean of each task's own estimate; attempts of different tasks are never pooled.
    assert [mean(task[k][0] for task in by_task) for k in range(4)] == pytest.approx([0.125, 0.25, 0.375, 0.5])
    assert [mean(task[k][1] for task in by_task) for k in range(4)] == pytest.approx([0.125, 0, 0, 0])


@given(COUNTS)
def test_both_count_every_choice_of_k_attempts(counts: tuple[int, int]) -> None:
    attempts, passed = counts
    outcomes = [index < passed for index in range(attempts)]
    for k, (at, hat) in enumerate(estimates(attempts, passed), 1):
        choices = list(combinations(outcomes, k))
        assert at == pytest.approx(mean(any(choice) for choice in choices), abs=1e-15)
        assert hat == pytest.approx(mean(all(choice) for choice in choices), abs=1e-15)


@given(COUNTS)
def test_more_attempts_never_pass_less_and_never_all_pass_more(counts: tuple[int, int]) -> None:
    attempts, passed = counts
    found = estimates(attempts, passed)
    assert [at for at, _ in found] == sorted(at for at, _ in found)
    assert [hat for _, hat in found] == sorted((hat for _, hat in found), reverse=True)
    assert found[0][0] == pytest.approx(found[0][1]) == pytest.approx(passed / attempts)
    assert all(0 <= hat <= at + 1e-15 and at <= 1 for at, hat in found)
    assert found[-1] == (float(passed > 0), float(passed == attempts))


@given(st.integers(1, 8).flatmap(lambda n: st.tuples(st.just(n), st.integers(0, n - 1))))
def test_one_more_passed_attempt_never_lowers_an_estimate(counts: tuple[int, int]) -> None:
    attempts, passed = counts
    for (at, hat), (more_at, more_hat) in zip(
        estimates(attempts, passed), estimates(attempts, passed + 1), strict=True
    ):
        assert more_at >= at
        assert more_hat >= hat


@pytest.mark.parametrize(("attempts", "passed"), [(1, 2), (1, -1), (0, 1)])
def test_more_than_all_cannot_have_passed(attempts: int, passed: int) -> None:
    with pytest.raises(ValueError, match=f"{passed} of {attempts} attempts cannot have passed"):
        pass_at_k(attempts, passed)


def test_without_attempts_there_is_nothing_to_estimate() -> None:
    assert pass_at_k(0, 0) == []
    assert no_estimate(2) == [PassAtK(1, None, None), PassAtK(2, None, None)]


@given(COUNTS)
def test_what_is_stored_reads_back_the_same(counts: tuple[int, int]) -> None:
    for found in (pass_at_k(*counts), no_estimate(counts[0])):
        assert decode(encode(found)) == found
    assert json.loads(encode(pass_at_k(2, 1))) == [
        {"k": 1, "estimate": 0.5, "passHatK": 0.5},
        {"k": 2, "estimate": 1.0, "passHatK": 0.0},
    ]
