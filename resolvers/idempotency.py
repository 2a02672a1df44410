"""Changes that may be asked for again: the same key, the same result."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from db import idempotency
from db.errors import ConflictError, InvalidInputError
from db.idempotency import EarlierRequest
from db.tenant import Tenant, Transaction
from resolvers.names import check_text

LONGEST: Final = 255


@dataclass(frozen=True, slots=True)
class Key:
    """A client's name for one change: of one person or token, for a day, for one request only."""

    subject_id: UUID
    text: str
    request_sha256: bytes


def check_key(text: str, *field: str) -> str:
    """Raises InvalidInputError unless `text` can be a key."""
    if not 1 <= len(text) <= LONGEST:
        raise InvalidInputError(f"A key has 1 to {LONGEST} characters; this one has {len(text)}.", field)
    return check_text(text, *field)


@dataclass(slots=True)
class Once:
    """A change under its key: `earlier` is what it came to before, if it did; else `result` must be set."""

    transaction: Transaction
    earlier: UUID | None
    result: UUID | None = None


@asynccontextmanager
async def once(tenant: Tenant, key: Key) -> AsyncGenerator[Once]:
    """A transaction that holds the key and what is changed under it, so that both are stored or neither.

    A second request with the key waits for the first. One that fails leaves its key free. Raises ConflictError for a
    key that was used for something else.
    """
    # In a transaction of its own: what it deletes is locked, and others with other keys would wait.
    async with tenant.transaction() as transaction:
        await transaction.fetch(idempotency.FORGET)
    async with tenant.transaction() as transaction:
        earlier = await _take(transaction, key)
        if earlier is None:
            change = Once(transaction, None)
            yield change
            await transaction.fetch(idempotency.SETTLE, key.subject_id, key.text, change.result)
            return
        if earlier.request_sha256 != key.request_sha256:
            raise ConflictError("This key was used for another change; give each change a key of its own.")
        yield Once(transaction, earlier.result_id)


async def _take(transaction: Transaction, key: Key) -> EarlierRequest | None:
    """What the key was used for; None when it is taken now."""
    while True:
        if await transaction.fetch_one(idempotency.TAKE, key.subject_id, key.text, key.request_sha256):
            return None
        # Between the two statements it may be forgotten.
        if earlier := await transaction.fetch_one(idempotency.FIND, key.subject_id, key.text):
            return earlier
