"""The scripted agent of the admin console: eight attempts on seed 0, and its mix over other seeds."""

import asyncio
import importlib.util
import sys
from collections import Counter
from pathlib import Path
from typing import Any

from tests.examples.console import FOLDER, Ended, evaluate, make, run_agent

# By profile: exit code, reward, inventory, checkout, failure category.
EXPECTED = {
    "careful": (0, 1.0, 1.0, 1.0, None),
    "forgets the checkout": (0, 0.7, 1.0, 0.5, "checkout_incomplete"),
    "miscounts the order": (0, 0.55, 1.0, 0.25, "wrong_quantity"),
    "restocks a single case": (0, 0.8, 0.5, 1.0, "restock_incomplete"),
    "does not restock": (0, 0.0, 0.0, 0.0, "restock_missing"),
    "only talks": (0, 0.0, 0.0, 0.0, "nothing_done"),
    "crashes": (1, 0.4, 1.0, 0.0, "checkout_incomplete"),
}


def profiles_of(seeds: range) -> Counter[str]:
    """How often the agent chooses each profile on attempts 1 to 8 of some seeds."""
    specification = importlib.util.spec_from_file_location("scripted_agent", FOLDER / "scripted_agent.py")
    assert specification is not None
    assert specification.loader is not None
    module: Any = importlib.util.module_from_spec(specification)
    sys.modules[specification.name] = module
    specification.loader.exec_module(module)
    return Counter(module.choose_profile(seed, attempt).name for seed in seeds for attempt in range(1, 9))


async def attempt_and_score(directory: Path, seed: int, attempt: int) -> tuple[str, tuple[object, ...], Ended]:
    """Run one attempt; return its profile as logged, what came of it, and how the agent ended."""
    ended = await run_agent(directory, seed, attempt)
    verdict = await evaluate(directory / "world", seed)
    profile = ended.out.splitlines()[0].partition("as an agent that is: ")[2].rstrip(".")
    keys = ("reward", "stage_inventory", "stage_checkout", "failure_category")
    return profile, (ended.code, *(verdict[key] for key in keys)), ended


async def test_eight_attempts_on_seed_0_show_passes_partial_credit_failures_and_a_crash(
    tmp_path: Path,
) -> None:
    # Each attempt is two processes that wait for each other; two at a time fill two cores.
    slots = asyncio.Semaphore(2)

    async def one(attempt: int) -> tuple[str, tuple[object, ...], Ended]:
        async with slots:
            return await attempt_and_score(make(tmp_path / str(attempt)), 0, attempt)

    attempts = await asyncio.gather(*(one(attempt) for attempt in range(1, 9)))
    for profile, outcome, ended in attempts:
        assert outcome == EXPECTED[profile], ended.out + ended.err
    assert Counter(profile for profile, _, _ in attempts) == Counter([*EXPECTED, "careful"])
    crash = next(ended for profile, _, ended in attempts if profile == "crashes")
    assert "RuntimeError: lost the plan half-way" in crash.err
    gave_up = next(ended for profile, _, ended in attempts if profile == "does not restock")
    assert "<- refused: Error executing tool set_order_line: Only 1 units of SKU-9 are in stock" in gave_up.out


def test_every_profile_has_its_share_over_many_seeds() -> None:
    counts = profiles_of(range(-250, 250))
    assert set(counts) == set(EXPECTED)
    assert 0.36 < counts["careful"] / counts.total() < 0.44
    assert all(0.05 < count / counts.total() < 0.16 for name, count in counts.items() if name != "careful")
