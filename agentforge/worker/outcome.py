"""Outcomes: how an attempt ended and what it was worth; the table stands in docs/outcomes.md."""

from dataclasses import dataclass, field
from typing import Final, Literal

from pydantic import JsonValue

from agentforge.worker.atif import AtifVerdict
from agentforge.worker.files import KeptFile
from agentforge.worker.steps import Step
from agentforge.worker.text import storable

Status = Literal["completed", "errored", "timed_out", "cancelled"]
DETAIL_CHARACTERS: Final = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """Everything kept of one attempt; status, reward and failure are separate facts.

    `reward` None is unscored. `metrics` is whatever else the evaluator printed. `agent_trajectory` is the
    trajectory.json that the agent left, byte for byte but for secrets; `atif` says what it is, also where it was not
    kept. `files` are those that the manifest asks for. `redactions` is how often a secret was replaced.
    """

    status: Status
    reward: float | None
    failure_category: str | None
    failure_detail: str | None
    stages: tuple[tuple[str, float], ...]
    metrics: dict[str, JsonValue]
    log: str
    steps: list[Step]
    agent_trajectory: bytes | None
    atif: AtifVerdict | None = None
    files: tuple[KeptFile, ...] = ()
    redactions: int = 0


@dataclass(frozen=True, slots=True)
class Ending:
    """How agent and world ended, before any score."""

    status: Status
    category: str | None = None
    detail: str | None = None

    @property
    def is_scored(self) -> bool:
        """Whether the evaluator runs: the agent had its say, to its own end or that of its time."""
        return self.status in ("completed", "timed_out")


REDACTION_FAILED: Final = Ending("errored", "redaction_failed")


def not_redacted(error: str) -> Outcome:
    """What is kept where secrets could not be taken out: nothing but the kind of the error."""
    return Outcome(
        status=REDACTION_FAILED.status,
        reward=None,
        failure_category=REDACTION_FAILED.category,
        failure_detail=f"secrets could not be redacted ({error}), so nothing of the attempt is kept",
        stages=(),
        metrics={},
        log="",
        steps=[],
        agent_trajectory=None,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """What the evaluator printed."""

    reward: float | None
    category: str | None = None
    detail: str | None = None
    stages: tuple[tuple[str, float], ...] = ()
    metrics: dict[str, JsonValue] = field(default_factory=dict)


class EvaluatorFailedError(Exception):
    """The evaluator gave no score; the message says why."""


def conclude(ending: Ending, score: Score | EvaluatorFailedError | None) -> tuple[Ending, Score]:
    """Brings an ending and its evaluation together; None when the evaluator did not run."""
    nothing = Score(reward=None)
    if score is None:
        return ending, nothing
    if isinstance(score, Score) and score.reward is None and score.category is None:
        score = EvaluatorFailedError("no reward")
    if ending.status == "timed_out":
        worth = score if isinstance(score, Score) else nothing
        remark = score.detail or score.category if isinstance(score, Score) else str(score)
        return Ending("timed_out", ending.category, _joined(ending.detail, remark)), worth
    if isinstance(score, EvaluatorFailedError):
        return Ending("errored", "evaluator_failed", str(score)), nothing
    return Ending("completed", score.category, score.detail), score


def _joined(first: str | None, second: str | None) -> str | None:
    return "; evaluator: ".join(text for text in (first, second) if text) or None


def short_detail(text: str | None) -> str | None:
    """Returns a detail that a database's text can hold, of at most 500 characters."""
    if text is None:
        return None
    detail = storable(text)
    return detail if len(detail) <= DETAIL_CHARACTERS else f"{detail[: DETAIL_CHARACTERS - 3]}..."
