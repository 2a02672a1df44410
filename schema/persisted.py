"""Automatic persisted queries, as Apollo's clients ask them: a hash in place of a document that was sent before.

A client sends `extensions.persistedQuery {version: 1, sha256Hash}` without a query. Where the hash is not known it is
told so, and sends both; from then on the hash is enough. Source: Apollo Server's documentation, "Automatic persisted
queries".
"""

import hashlib
import re
from dataclasses import dataclass, field
from typing import Any, Final

from schema.bounded import Bounded

#: Of all documents kept, in characters.
MOST_CHARACTERS: Final = 1_000_000

_SHA256: Final = re.compile(r"[0-9a-f]{64}", re.ASCII)


class PersistedQueryError(Exception):
    """Why there is no document to execute; `code` as Apollo's clients know it, `status` of the HTTP answer."""

    def __init__(self, message: str, code: str, status: int) -> None:
        super().__init__(message)
        self.code = code
        self.status = status

    def answer(self) -> dict[str, Any]:
        return {"errors": [{"message": str(self), "extensions": {"code": self.code}}]}


@dataclass(frozen=True, slots=True)
class PersistedQueries:
    """Documents by their hash, for every organization: what was asked, never what was answered."""

    known: Bounded[str] = field(default_factory=lambda: Bounded(MOST_CHARACTERS))

    def complete(self, asked: dict[str, Any]) -> dict[str, Any]:
        """The request with its document, where it has named it by a hash. Raises PersistedQueryError."""
        extensions = asked.get("extensions")
        if not isinstance(extensions, dict) or "persistedQuery" not in extensions:
            return asked
        persisted, query = extensions["persistedQuery"], asked.get("query")
        sha256 = persisted.get("sha256Hash") if isinstance(persisted, dict) else None
        if not isinstance(sha256, str) or not _SHA256.fullmatch(sha256) or persisted.get("version") != 1:
            message = "persistedQuery must be {version: 1, sha256Hash: <64 lower-case hex digits>}."
            raise PersistedQueryError(message, "PERSISTED_QUERY_NOT_SUPPORTED", 400)
        if query is None:
            query = self.known.get(sha256)
            if query is None:
                raise PersistedQueryError("PersistedQueryNotFound", "PERSISTED_QUERY_NOT_FOUND", 200)
        elif not isinstance(query, str) or hashlib.sha256(query.encode()).hexdigest() != sha256:
            raise PersistedQueryError("provided sha does not match query", "BAD_USER_INPUT", 400)
        else:
            self.known.put(sha256, query, len(query))
        others = {name: value for name, value in extensions.items() if name != "persistedQuery"}
        return asked | {"query": query, "extensions": others}
