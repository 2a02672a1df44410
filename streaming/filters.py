"""What an export holds: its kind and filters, read from the query string."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import TypeVar
from uuid import UUID

from starlette.datastructures import QueryParams

from db.errors import InvalidInputError
from resolvers.ids import parse_filter_id
from resolvers.rollouts import ExportFormat, ExportKind
from streaming.messages import PairMode

Value = TypeVar("Value")

#: Of kind `all`, the newest that an export gives; the other kinds give every match.
MOST_OF_ALL = 1000

_MOST = 2**63 - 1
#: Pairs of one version, where `pairs=all` does not say how many.
PER_VERSION = 100
MOST_PER_VERSION = 10_000
_OF_PAIRS = ("pair", "pairs", "minMargin", "maxPerVersion")
NAMES = (
    *("kind", "format", "limit", "environmentVersionId", "evaluationRunId", "since", "until", "after", "manifest"),
    *("strict", *_OF_PAIRS),
)
_MOMENT = "a date and time with an offset, such as 2026-01-31T09:00:00Z (in an address a + is written %2B)"


class Pairs(StrEnum):
    """Which rollouts of a version are set against each other."""

    EXTREME = "extreme"
    ALL = "all"


@dataclass(frozen=True, slots=True)
class PairChoice:
    """Which pairs of messages, and what of them; the numbers count for all pairs only."""

    mode: PairMode = PairMode.TRAJECTORY
    which: Pairs = Pairs.EXTREME
    min_margin: float = 0.0
    max_per_version: int = PER_VERSION

    def given(self) -> dict[str, object]:
        of_all = {"minMargin": self.min_margin, "maxPerVersion": self.max_per_version}
        return {"pair": self.mode, "pairs": self.which, **(of_all if self.which is Pairs.ALL else {})}


@dataclass(frozen=True, slots=True)
class ExportFilters:
    """`since` is inclusive, `until` exclusive; both in UTC. A `limit` of None is none.

    `after` is the rollout, or of pairs the version, that the last line had. `manifest`: whether one ends the lines.
    `strict`: whether what the format cannot carry is an error. `pairs` is None but for pairs of messages.
    """

    kind: ExportKind
    format: ExportFormat
    limit: int | None = None
    environment_version_id: UUID | None = None
    evaluation_run_id: UUID | None = None
    since: datetime | None = None
    until: datetime | None = None
    after: UUID | None = None
    manifest: bool = False
    strict: bool = False
    pairs: "PairChoice | None" = None

    def arguments(self) -> tuple[object, ...]:
        """Of the statements of db/exports.sql."""
        matches = (self.environment_version_id, self.evaluation_run_id, self.since, self.until)
        of_kind: tuple[object, ...] = () if self.kind is ExportKind.PREFERENCE else (self.kind,)
        if self.pairs and self.pairs.which is Pairs.ALL:
            of_kind = (self.pairs.min_margin, self.pairs.max_per_version)
        return (*matches, self.after, self.limit, *of_kind)

    def given(self) -> dict[str, str]:
        """What an export asked for besides its kind and format, by the names of the parameters."""
        values = {
            "limit": self.limit,
            "environmentVersionId": self.environment_version_id,
            "evaluationRunId": self.evaluation_run_id,
            "since": self.since and self.since.isoformat(),
            "until": self.until and self.until.isoformat(),
            "after": self.after,
            "manifest": "true" if self.manifest else None,
            "strict": "true" if self.strict else None,
            **(self.pairs.given() if self.pairs else {}),
        }
        return {name: str(value) for name, value in values.items() if value is not None}


def _count(text: str) -> int:
    # int() would take "1_000", " 5" and digits of other scripts too.
    if not re.fullmatch("[0-9]{1,19}", text) or not 1 <= int(text) <= _MOST:
        raise ValueError(text)
    return int(text)


def _moment(text: str) -> datetime:
    moment = datetime.fromisoformat(text)
    if moment.tzinfo is None:
        raise ValueError(text)
    return moment.astimezone(UTC)


def _margin(text: str) -> float:
    # float() would take "nan", "inf" and "1_0" too.
    if not re.fullmatch(r"[0-9]{1,20}(\.[0-9]{1,20})?", text):
        raise ValueError(text)
    return float(text)


def _per_version(text: str) -> int:
    if (count := _count(text)) > MOST_PER_VERSION:
        raise ValueError(text)
    return count


def _flag(text: str) -> bool:
    return {"true": True, "false": False}[text]


def _read(parameters: QueryParams, name: str, parse: Callable[[str], Value], expected: str, default: Value) -> Value:
    if name not in parameters:
        return default
    try:
        return parse(parameters[name])
    except (KeyError, ValueError, OverflowError):
        raise InvalidInputError(f"{name} must be {expected}.", [name]) from None


def _limit(parameters: QueryParams, kind: ExportKind) -> int | None:
    default = MOST_OF_ALL if kind is ExportKind.ALL else None
    limit: int | None = _read(parameters, "limit", _count, f"a whole number from 1 to {_MOST}", default)
    if kind is ExportKind.ALL and limit is not None and limit > MOST_OF_ALL:
        raise InvalidInputError(
            f"limit must be at most {MOST_OF_ALL} for kind=all; the other kinds give every match.", ["limit"]
        )
    return limit


def _format(parameters: QueryParams, kind: ExportKind) -> ExportFormat:
    """One of the kind's; another kind's is refused as well."""
    formats = {str(one): one for one in kind.formats}
    expected = f"one of {', '.join(formats)} with kind={kind}"
    return _read(parameters, "format", formats.__getitem__, expected, kind.formats[0])


def _pairs(parameters: QueryParams, format_: ExportFormat) -> PairChoice | None:
    """Raises InvalidInputError for what would have no effect."""
    given = [name for name in _OF_PAIRS if name in parameters]
    if format_ is not ExportFormat.TRL:
        if given:
            raise InvalidInputError(f"{given[0]} is for kind=preference&format=trl only.", [given[0]])
        return None
    which = _read(parameters, "pairs", Pairs, f"one of {', '.join(Pairs)}", Pairs.EXTREME)
    for name in ("minMargin", "maxPerVersion"):
        if which is Pairs.EXTREME and name in given:
            raise InvalidInputError(f"{name} is for pairs=all only.", [name])
    if which is Pairs.ALL and "after" in parameters:
        message = "after cannot tell one of several pairs of a version; with pairs=all use environmentVersionId."
        raise InvalidInputError(message, ["after"])
    return PairChoice(
        mode=_read(parameters, "pair", PairMode, f"one of {', '.join(PairMode)}", PairMode.TRAJECTORY),
        which=which,
        min_margin=_read(parameters, "minMargin", _margin, "a number from 0, such as 0.25", 0.0),
        max_per_version=_read(
            parameters, "maxPerVersion", _per_version, f"a whole number from 1 to {MOST_PER_VERSION}", PER_VERSION
        ),
    )


def parse_filters(parameters: QueryParams) -> ExportFilters:
    """Raises InvalidInputError that names the parameter: unknown, given twice, or with a bad value."""
    for name in parameters:
        if name not in NAMES:
            raise InvalidInputError(f"{name} is not a parameter here; known are {', '.join(NAMES)}.", [name])
        if len(parameters.getlist(name)) > 1:
            raise InvalidInputError(f"{name} must be given once.", [name])
    kind = _read(parameters, "kind", ExportKind, f"one of {', '.join(ExportKind)}", ExportKind.ALL)
    format_ = _format(parameters, kind)
    return ExportFilters(
        kind=kind,
        format=format_,
        limit=_limit(parameters, kind),
        environment_version_id=parse_filter_id(parameters.get("environmentVersionId"), ["environmentVersionId"]),
        evaluation_run_id=parse_filter_id(parameters.get("evaluationRunId"), ["evaluationRunId"]),
        since=_read(parameters, "since", _moment, _MOMENT, None),
        until=_read(parameters, "until", _moment, _MOMENT, None),
        after=parse_filter_id(parameters.get("after"), ["after"]),
        manifest=_read(parameters, "manifest", _flag, "true or false", False),
        strict=_read(parameters, "strict", _flag, "true or false", False),
        pairs=_pairs(parameters, format_),
    )
