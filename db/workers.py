"""The queue and the workers as a whole: who works, what waits and what has been counted, of no organization."""

from dataclasses import dataclass

from db.query import query


@dataclass(frozen=True, slots=True)
class Reported:
    """`is_new` is false for a report that was stored before."""

    is_new: bool


@dataclass(frozen=True, slots=True)
class Nothing:
    """Of a statement that yields no rows."""


@dataclass(frozen=True, slots=True)
class Present:
    """Workers that reported lately, the attempts that they have room for, and those under way."""

    workers: int
    places: int
    places_taken: int


@dataclass(frozen=True, slots=True)
class Total:
    """A series of metrics, in the text that `agentforge.worker.metrics` gives it, over all workers there have been."""

    series: str
    value: float


@dataclass(frozen=True, slots=True)
class Waiting:
    """Of the queue; the age is 0 when nothing waits."""

    queued_runs: int
    taken_runs: int
    queued_attempts: int
    oldest_seconds: float


REPORT = query("workers.report", Reported)
LEAVE = query("workers.leave", Nothing)
PRESENT = query("workers.present", Present)
TOTALS = query("workers.totals", Total)
WAITING = query("workers.waiting", Waiting)

#: Beside PgQueuer's tables: their lifetime is that of the queue, and no row belongs to an organization.
TABLES = """
create table if not exists queue.workers (
  name text primary key,
  host text not null,
  started_at timestamptz not null default now(),
  last_seen_at timestamptz not null default now(),
  places int not null,
  places_taken int not null,
  report bigint not null
);
create table if not exists queue.totals (series text primary key, value double precision not null)
"""
