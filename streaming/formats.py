"""Which statement and which conversion make the lines of each format."""

from dataclasses import dataclass
from functools import partial
from typing import assert_never

from db import exports
from db.errors import InvalidInputError
from db.exports import Line, LineCount
from db.query import Query
from db.tenant import Transaction
from resolvers.rollouts import ExportFormat
from streaming.atif import atif_line
from streaming.conversion import Convert
from streaming.filters import ExportFilters, Pairs
from streaming.messages import messages_line, pair_line


@dataclass(frozen=True, slots=True)
class Source:
    """Rows that are lines already, or that `convert` makes lines of.

    `count` is known where no row is left out. `lost` counts beforehand what the format cannot carry, or part of it.
    """

    rows: Query[Line]
    convert: Convert | None = None
    count: Query[LineCount] | None = None
    lost: Query[LineCount] | None = None


def source_of(filters: ExportFilters) -> Source:
    match filters.format:
        case ExportFormat.ATIF_SHAPED:
            return Source(exports.ROLLOUTS, count=exports.COUNT_ROLLOUTS)
        case ExportFormat.PREFERENCE_PAIR:
            return Source(exports.PREFERENCES, count=exports.COUNT_PREFERENCES)
        case ExportFormat.ATIF:
            return Source(exports.ATIF, atif_line)
        case ExportFormat.OPENAI_MESSAGES:
            return Source(exports.RECORDED, messages_line, lost=exports.COUNT_WITHOUT_STEPS)
        case ExportFormat.TRL:
            assert filters.pairs
            rows = exports.PAIRS_ALL if filters.pairs.which is Pairs.ALL else exports.PAIRS_EXTREME
            return Source(rows, partial(pair_line, mode=filters.pairs.mode))
        case _:
            assert_never(filters.format)


async def refuse_what_is_lost(source: Source, filters: ExportFilters, transaction: Transaction) -> None:
    """For a strict export, before its first line. Raises InvalidInputError."""
    if not filters.strict or source.lost is None:
        return
    lost = await transaction.fetch_one(source.lost, *filters.arguments())
    assert lost
    if lost.lines:
        message = f"format={filters.format} cannot carry {lost.lines} of these rollouts, which have no steps."
        raise InvalidInputError(message, ["strict"])
