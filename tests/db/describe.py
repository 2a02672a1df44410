"""Asks the server what a statement would return, without running it: names, types, and which column each comes from.

asyncpg's prepared statements do not tell the table and column that a result column is read from; the protocol does.
"""

import asyncio
import struct
from collections.abc import Iterable
from dataclasses import dataclass
from urllib.parse import parse_qs, urlsplit

import asyncpg

from db.query import Query


@dataclass(frozen=True)
class Column:
    """`nullable` is None for what is computed, where the server does not say."""

    name: str
    type: str
    nullable: bool | None


@dataclass(frozen=True)
class _Field:
    name: str
    table_oid: int
    column_number: int
    type_oid: int


def _message(kind: bytes, body: bytes) -> bytes:
    return kind + struct.pack("!i", len(body) + 4) + body


async def _answer(reader: asyncio.StreamReader) -> dict[bytes, bytes]:
    """The messages up to ReadyForQuery, by kind."""
    answer: dict[bytes, bytes] = {}
    while b"Z" not in answer:
        kind, length = struct.unpack("!ci", await reader.readexactly(5))
        answer[kind] = await reader.readexactly(length - 4)
    return answer


def _fields(body: bytes) -> list[_Field]:
    (count,), rest = struct.unpack("!h", body[:2]), body[2:]
    fields = []
    for _ in range(count):
        name, rest = rest.split(b"\0", 1)
        table_oid, column_number, type_oid = struct.unpack("!ihi", rest[:10])
        fields.append(_Field(name.decode(), table_oid, column_number, type_oid))
        rest = rest[18:]
    return fields


async def _describe(url: str, queries: Iterable[Query[object]]) -> dict[str, list[_Field]]:
    parts = urlsplit(url)
    (directory,) = parse_qs(parts.query)["host"]
    reader, writer = await asyncio.open_unix_connection(f"{directory}/.s.PGSQL.5432")
    try:
        parameters = f"user\0{parts.username}\0database\0{parts.path[1:]}\0\0".encode()
        writer.write(_message(b"", struct.pack("!i", 3 << 16) + parameters))
        await _answer(reader)
        described = {}
        for query in queries:
            parse = _message(b"P", b"\0" + query.text.encode() + b"\0" + struct.pack("!h", 0))
            writer.write(parse + _message(b"D", b"S\0") + _message(b"S", b""))
            answer = await _answer(reader)
            assert b"E" not in answer, f"{query.name}: {answer[b'E'].decode()}"
            described[query.name] = _fields(answer[b"T"]) if b"T" in answer else []
        return described
    finally:
        writer.close()
        await writer.wait_closed()


async def describe(url: str, queries: Iterable[Query[object]]) -> dict[str, list[Column]]:
    """The columns of each query by its name; none for a statement that returns nothing."""
    described = await _describe(url, queries)
    connection = await asyncpg.connect(url)
    try:
        rows = await connection.fetch("select oid, format_type(oid, null) as name from pg_type")
        types = {row["oid"]: row["name"] for row in rows}
        not_null = {
            (row["attrelid"], row["attnum"]): row["attnotnull"]
            for row in await connection.fetch("select attrelid, attnum, attnotnull from pg_attribute")
        }
    finally:
        await connection.close()
    return {
        name: [
            Column(
                field.name,
                types[field.type_oid],
                not not_null[field.table_oid, field.column_number] if field.table_oid else None,
            )
            for field in fields
        ]
        for name, fields in described.items()
    }
