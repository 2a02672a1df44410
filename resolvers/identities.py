"""Who holds a secret, remembered for as long as nothing says otherwise."""

from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Final

from db import accounts
from db.accounts import Identity
from db.changes import Changes
from db.tenant import Pool, fetch_before_organization
from resolvers.accounts import digest

_MOST: Final = 10_000


@dataclass(slots=True)
class Identities:
    """Asks the database for each secret once, and again after any token, session or membership changed or ended.

    Nothing is remembered while changes could be missed. Between the commit of a change and its arrival here the
    earlier answer is still given: some milliseconds, or until a dead connection to the database is noticed, 20 seconds.
    """

    pool: Pool
    changes: Changes
    known: dict[bytes, Identity] = field(default_factory=dict)
    edition: int = -1

    async def find(self, secret: str) -> Identity | None:
        """The holder of the secret of a token or session; None when nobody is (any more)."""
        if self.edition != self.changes.identities:
            self.known.clear()
            self.edition = self.changes.identities
        secret_sha256 = digest(secret)
        identity = self.known.get(secret_sha256)
        if identity is not None and self.changes.listening and identity.expires_at > datetime.now(UTC):
            return identity
        edition = self.edition
        rows = await fetch_before_organization(self.pool, accounts.IDENTIFY, secret_sha256)
        if not rows:
            return None
        # What changed while the question was under way may have come after its answer was made.
        if self.changes.listening and edition == self.changes.identities and len(self.known) < _MOST:
            self.known[secret_sha256] = rows[0]
        return rows[0]
