"""What one request may use."""

from dataclasses import dataclass, field
from typing import Any

from db.accounts import Identity
from db.changes import Changes
from db.tenant import Tenant
from resolvers.loaders import Loaders


@dataclass(slots=True)
class Context:
    """Of one operation; its loaders answer it alone."""

    tenant: Tenant
    identity: Identity
    changes: Changes
    load: Loaders
    idempotency_key: str | None = None

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

    def context(self) -> Context:
        """A context for one operation. Raises PermissionError when nobody is signed in."""
        if self.tenant is None or self.identity is None:
            raise PermissionError("nobody is signed in on this connection")
        return Context(self.tenant, self.identity, self.changes, Loaders(self.tenant), self.idempotency_key)
