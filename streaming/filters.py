"""What an export holds: its kind and filters, read from the query string."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TypeVar
from uuid import UUID

from starlette.datastructures import QueryParams

from db.errors import InvalidInputError
from resolvers.ids import parse_filter_id
from resolvers.rollouts import ExportKind

Value = TypeVar("Value")

#: Of kind `all`, the newest that an export gives; the other kinds give every match.
MOST_OF_ALL = 1000

_MOST = 2**63 - 1
_NAMES = ("kind", "limit", "environmentVersionId", "evaluationRunId", "since", "until", "after", "manifest")
_MOMENT = "a date and time with an offset, such as 2026-01-31T09:00:00Z (in an address a + is written %2B)"


@dataclass(frozen=True, slots=True)
class ExportFilters:
    """`since` is inclusive, `until` exclusive; both in UTC. A `limit` of None is none.

    `after` is the rollout, or of pairs the version, that the last line had. `manifest`: whether one ends the lines.
    """

    kind: ExportKind
    limit: int | None = None
    environment_version_id: UUID | None = None
    evaluation_run_id: UUID | None = None
    since: datetime | None = None
    until: datetime | None = None
    after: UUID | None = None
    manifest: bool = False

    def arguments(self) -> tuple[object, ...]:
        """Of the statements of db/exports.sql."""
        matches = (self.environment_version_id, self.evaluation_run_id, self.since, self.until)
        of_kind = () if self.kind is ExportKind.PREFERENCE else (self.kind,)
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


def parse_filters(parameters: QueryParams) -> ExportFilters:
    """Raises InvalidInputError that names the parameter: unknown, given twice, or with a bad value."""
    for name in parameters:
        if name not in _NAMES:
            raise InvalidInputError(f"{name} is not a parameter here; known are {', '.join(_NAMES)}.", [name])
        if len(parameters.getlist(name)) > 1:
            raise InvalidInputError(f"{name} must be given once.", [name])
    kind = _read(parameters, "kind", ExportKind, f"one of {', '.join(ExportKind)}", ExportKind.ALL)
    return ExportFilters(
        kind=kind,
        limit=_limit(parameters, kind),
        environment_version_id=parse_filter_id(parameters.get("environmentVersionId"), ["environmentVersionId"]),
        evaluation_run_id=parse_filter_id(parameters.get("evaluationRunId"), ["evaluationRunId"]),
        since=_read(parameters, "since", _moment, _MOMENT, None),
        until=_read(parameters, "until", _moment, _MOMENT, None),
        after=parse_filter_id(parameters.get("after"), ["after"]),
        manifest=_read(parameters, "manifest", _flag, "true or false", False),
    )
