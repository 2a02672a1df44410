"""A run on the terminal: its attempts as they go, and what came of them."""

import asyncio
import json
from collections import Counter
from uuid import UUID

from rich.console import Console
from rich.live import Live
from rich.table import Table
from rich.text import Text

from db import runs, trials
from db.accounts import Identity
from db.changes import Changes
from db.runs import EvaluationRun, RunStatus
from db.tenant import Tenant
from db.trials import TRIAL_OPEN, EvaluationTrial, TrialStatus
from resolvers import progress
from resolvers.context import Context
from resolvers.loaders import Loaders
from resolvers.pass_at_k import decode

_NO_WORKER_SECONDS = 10


def describe(trial: EvaluationTrial) -> tuple[str, str]:
    """What came of an attempt, in a word, and the style to show it in."""
    if trial.status == TrialStatus.RUNNING:
        return "running", "cyan"
    if trial.status == TrialStatus.QUEUED:
        return "queued", "dim"
    if trial.reward is None:
        return "unscored", "magenta"
    if trial.reward == 1:
        return "passed", "green"
    return ("partial", "yellow") if 0 < trial.reward < 1 else ("failed", "red")


def _details(trial: EvaluationTrial) -> tuple[str, str, str]:
    """Reward, stages and failure category; of an attempt without a score also why, which says what to mend."""
    reward = "" if trial.reward is None else f"{trial.reward:g}"
    stages = "  ".join(
        f"{stage['name'].removeprefix('stage_')} {stage['value']:g}" for stage in json.loads(trial.stages)
    )
    why = (trial.failure_category, trial.failure_detail if trial.reward is None else None)
    # A detail may hold what an evaluator printed: nothing that moves the cursor.
    return reward, stages, "".join(one if one.isprintable() else " " for one in ": ".join(filter(None, why)))


def _table(attempts: list[EvaluationTrial]) -> Table:
    table = Table(box=None, pad_edge=False, header_style="dim")
    for column in ("attempt", "outcome", "reward", "stages", "failure category"):
        table.add_column(column)
    for trial in attempts:
        outcome, style = describe(trial)
        table.add_row(str(trial.attempt), Text(outcome, style), *map(Text, _details(trial)))
    return table


def _line(trial: EvaluationTrial) -> str:
    reward, stages, category = _details(trial)
    return "  ".join(
        part for part in (f"attempt {trial.attempt}: {describe(trial)[0]}", reward, stages, category) if part
    )


def summary(run: EvaluationRun, attempts: list[EvaluationTrial]) -> list[str]:
    """Lines that say how a run ended."""
    counts = Counter(describe(trial)[0] for trial in attempts)
    outcomes = ", ".join(
        f"{counts[word]} {word}" for word in ("passed", "partial", "failed", "unscored") if counts[word]
    )
    lines = [f"{run.status}: {outcomes} of {run.attempt_count} attempts (world seed {run.seed})"]
    if run.status == RunStatus.COMPLETED:
        estimates = decode(run.pass_at_k)
        for name, values in (
            ("pass@k", [one.estimate for one in estimates]),
            ("pass^k", [one.pass_hat_k for one in estimates]),
        ):
            lines.append(
                f"{name} for k = 1 to {len(values)}:  "
                + "  ".join(f"{value:.2f}" for value in values if value is not None)
            )
    if run.failure_detail:
        lines.append(run.failure_detail)
    return lines


async def watch(
    tenant: Tenant, changes: Changes, run_id: UUID, console: Console
) -> tuple[EvaluationRun, list[EvaluationTrial]]:
    """Show a run's attempts until it has ended; one line each where the output is no terminal."""
    operator = Identity(tenant.organization_id, tenant.organization_id, None, "owner")
    context = Context(tenant, operator, changes, Loaders(tenant))
    reported: set[int] = set()
    hint = asyncio.create_task(_hint_at_missing_worker(tenant, run_id, console))
    try:
        with Live(console=console, auto_refresh=False, transient=not console.is_terminal) as live:
            async for _ in progress.run_updates(context, str(run_id)):
                attempts = await tenant.fetch(trials.BY_RUNS, [run_id])
                if console.is_terminal:
                    live.update(_table(attempts), refresh=True)
                    continue
                for trial in attempts:
                    if trial.status not in TRIAL_OPEN and trial.attempt not in reported:
                        reported.add(trial.attempt)
                        console.print(_line(trial), markup=False, highlight=False, soft_wrap=True)
    finally:
        hint.cancel()
    (run,) = await tenant.fetch(runs.BY_IDS, [run_id])
    return run, await tenant.fetch(trials.BY_RUNS, [run_id])


async def _hint_at_missing_worker(tenant: Tenant, run_id: UUID, console: Console) -> None:
    await asyncio.sleep(_NO_WORKER_SECONDS)
    (run,) = await tenant.fetch(runs.BY_IDS, [run_id])
    if run.status == RunStatus.QUEUED:
        console.print("Still queued: is a worker running? Start one with `agentforge worker`.", style="yellow")
