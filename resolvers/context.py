"""What one request may use."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, Final

from db.accounts import Identity
from db.changes import Changes
from db.tenant import Tenant
from resolvers.loaders import Loaders
from resolvers.secret_keys import SecretKeys

#: Who holds a secret now; None when nobody does any more.
IdentifyAgain = Callable[[], Awaitable[Identity | None]]
NO_KEYS: Final = SecretKeys([])


@dataclass(slots=True)
class Context:
    """Of one operation; its loaders answer it alone."""

    tenant: Tenant
    identity: Identity
    changes: Changes
    load: Loaders
    idempotency_key: str | None = None
    identify_again: IdentifyAgain | None = None
    keys: SecretKeys = NO_KEYS

    async def still_signed_in(self) -> bool:
        """Whether the token or session with which the operation was asked for has not ended since."""
        return self.identify_again is None or await self.identify_again() is not None

    def refresh(self) -> None:
        """Forget what was loaded, so that the next event of a subscription shows what is there then."""
        self.load = Loaders(self.tenant)


@dataclass(slots=True)
class Session:
    """Who is on a connection, which may carry many operations; nobody until a WebSocket's client has said who."""

    changes: Changes
    tenant: Tenant | None = None
    identity: Identity | None = None
    connection_params: dict[str, Any] = field(default_factory=dict)
    idempotency_key: str | None = None
    identify_again: IdentifyAgain | None = None
    keys: SecretKeys = NO_KEYS

    async def renew(self) -> bool:
        """Asks anew who it is, with which role; False when the token or session has ended."""
        if self.identify_again is not None:
            self.identity = await self.identify_again()
        return self.identity is not None

    def context(self) -> Context:
        """A context for one operation. Raises PermissionError when nobody is signed in."""
        if self.tenant is None or self.identity is None:
            raise PermissionError("nobody is signed in on this connection")
        loaders = Loaders(self.tenant)
        return Context(
            self.tenant, self.identity, self.changes, loaders, self.idempotency_key, self.identify_again, self.keys
        )
