"""Keys that clients give to changes, so that asking again changes nothing more."""

from dataclasses import dataclass
from uuid import UUID

from db.accounts import Id, Nothing
from db.query import query


@dataclass(frozen=True, slots=True)
class EarlierRequest:
    """What a key was used for; `result_id` of what the change made or changed."""

    request_sha256: bytes
    result_id: UUID | None


FORGET = query("idempotency.forget", Nothing)
TAKE = query("idempotency.take", Id)
FIND = query("idempotency.find", EarlierRequest)
SETTLE = query("idempotency.settle", Nothing)
