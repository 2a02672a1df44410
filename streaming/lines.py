"""A response of lines: started by its first chunk, and ended cleanly only when it is whole."""

import asyncio
import hashlib
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

import orjson
from starlette.datastructures import Headers, MutableHeaders
from starlette.types import Receive, Scope, Send

from db import exports
from db.accounts import Identity
from db.copying import LineSink
from db.exports import LineCount
from db.query import Query
from db.tenant import Tenant, Transaction
from resolvers.export_audits import Audit, start
from streaming.audited import Audited, outcome_of, under_way
from streaming.body import Body
from streaming.conversion import Converted
from streaming.encodings import ENCODERS, choose_encoding
from streaming.filters import ExportFilters
from streaming.formats import refuse_what_is_lost, source_of
from streaming.places import PLACES
from streaming.recorded import Reason

#: Of the pool for exports: more than there are places, so that none waits for another to be written into the audit.
MOST_CONNECTIONS = PLACES.most + 2

_SNAPSHOT = "ISOLATION LEVEL REPEATABLE READ READ ONLY"
#: The statements are to follow an index from row to row: any other plan builds lines, steps and all, before it sorts.
PLAN = "; ".join(
    f"SET LOCAL enable_{kind} = off" for kind in ("seqscan", "bitmapscan", "hashjoin", "mergejoin", "sort")
)


async def _until_disconnected(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


@dataclass(frozen=True, slots=True)
class LineResponse:
    """Every line of an export from one snapshot, in bounded memory, at the client's pace.

    A failure before the first chunk can still become a problem response. A later one is raised through the
    server, which then closes the connection without the end of the body. A client that leaves ends the query.
    HEAD gives the headers, and in `X-Rollout-Count` how many lines there would be where none can be left out.
    """

    tenant: Tenant
    identity: Identity
    filters: ExportFilters
    headers: Mapping[str, str]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        with PLACES.take(self.tenant.organization_id), under_way():
            await self._stream(scope, receive, send)

    async def _stream(self, scope: Scope, receive: Receive, send: Send) -> None:
        audited = None if scope["method"] == "HEAD" else Audited(asyncio.create_task(self._start()))
        # Tasks and no anyio scope: that one cancels again and again, also the rollback.
        sending = asyncio.create_task(self._send_all(scope, send, audited))
        leaving = asyncio.create_task(_until_disconnected(receive))
        try:
            await asyncio.wait((sending, leaving), return_when=asyncio.FIRST_COMPLETED)
        finally:
            has_left = leaving.done()
            sending.cancel()
            leaving.cancel()
            await asyncio.wait((sending, leaving))
            if audited:
                await asyncio.shield(asyncio.create_task(audited.finish(outcome_of(sending, has_left=has_left))))
        if not sending.cancelled():
            sending.result()

    async def _start(self) -> Audit:
        asked = self.filters
        return await start(self.tenant, self.identity, asked.kind, asked.format, asked.given())

    async def _send_all(self, scope: Scope, send: Send, audited: Audited | None) -> None:
        name = choose_encoding(Headers(scope=scope).get("accept-encoding", ""))
        headers = MutableHeaders({**self.headers, "Vary": "Accept-Encoding"})
        if name != "identity":
            headers["Content-Encoding"] = name
        if audited is None:
            if count := source_of(self.filters).count:
                headers["X-Rollout-Count"] = str(await self._count(count))
            await send({"type": "http.response.start", "status": 200, "headers": headers.raw})
            await send({"type": "http.response.body", "body": b""})
            return
        digest = hashlib.sha256() if self.filters.manifest else None
        body = Body(send, headers, ENCODERS[name](), audited, digest)
        source, skipped = source_of(self.filters), Counter[Reason]()
        sink: LineSink = body.add
        if source.convert:
            sink = Converted(source.convert, body.add, self.filters.strict, skipped).add
        async with self.tenant.transaction(f"{_SNAPSHOT}; {PLAN}", unlimited=True) as transaction:
            taken_at = await _snapshot(transaction) if digest else ""
            await refuse_what_is_lost(source, self.filters, transaction)
            await transaction.copy(source.rows, *self.filters.arguments(), sink=sink)
        await body.finish(partial(self._manifest, body.count, skipped, digest, taken_at) if digest else bytes)

    async def _count(self, query: Query[LineCount]) -> int:
        async with self.tenant.transaction("READ ONLY", unlimited=True) as transaction:
            counted = await transaction.fetch_one(query, *self.filters.arguments())
        assert counted is not None
        return counted.lines

    def _manifest(self, lines: int, skipped: Counter[Reason], digest: "hashlib._Hash", taken_at: str) -> bytes:
        manifest = {
            "schemaVersion": 1,
            "privacyClass": "PRIVATE",
            "format": "manifest",
            "kind": self.filters.kind,
            "rollouts": lines,
            "skipped": {str(reason): count for reason, count in sorted(skipped.items())},
            "sha256": digest.hexdigest(),
            "snapshotAt": taken_at,
        }
        return orjson.dumps(manifest) + b"\n"


async def _snapshot(transaction: Transaction) -> str:
    taken = await transaction.fetch_one(exports.SNAPSHOT)
    assert taken is not None
    return taken.taken_at.isoformat()
