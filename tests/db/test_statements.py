"""Every statement of db/*.sql against the migrated schema: its columns, types and nulls are those of its row class."""

import importlib
import re
import types
from collections import Counter
from dataclasses import fields
from datetime import datetime
from pathlib import Path
from typing import Union, get_args, get_origin, get_type_hints
from uuid import UUID

import asyncpg
import pytest

import db.query
from agentforge.guard import ROOT_PACKAGES
from db.embedded import DatabaseUrls
from db.query import Json, Query
from tests.conftest import in_database
from tests.db.describe import Column, describe

ROOT = Path(db.query.__file__).parents[1]
DUMP = "schema"  # the one .sql file that holds no statements
STATEMENT_FILES = sorted(path.stem for path in (ROOT / "db").glob("*.sql") if path.stem != DUMP)

PYTHON_TYPES = {
    "uuid": UUID,
    "text": str,
    "integer": int,
    "bigint": int,
    "double precision": float,
    "boolean": bool,
    "timestamp with time zone": datetime,
    "bytea": bytes,
    "json": Json,
    "jsonb": Json,
    "text[]": list[str],
}

# Nullable columns that the statement's own condition keeps from being null.
NEVER_NULL_HERE = {
    ("artifact_files.content", "sha256"),
    ("artifact_files.content", "content"),
    ("rollouts.preferences_of_versions", "preferred_reward"),
    ("rollouts.preferences_of_versions", "rejected_reward"),
}


def declared() -> list[Query[object]]:
    """The statements that any module declares."""
    files = [path for package in ROOT_PACKAGES for path in (ROOT / package).rglob("*.py")]
    modules = [
        importlib.import_module(".".join(path.relative_to(ROOT).with_suffix("").parts))
        for path in files
        if re.search(r"^from db\.query import .*\bquery\b", path.read_text("utf-8"), re.MULTILINE)
    ]
    return [value for module in modules for value in vars(module).values() if isinstance(value, Query)]


QUERIES = declared()
each_query = pytest.mark.parametrize("query", QUERIES, ids=[query.name for query in QUERIES])


@pytest.fixture(scope="module")
async def described(server: DatabaseUrls, template: str) -> dict[str, list[Column]]:
    return await describe(in_database(server.app, template), QUERIES)


def optional(annotation: object) -> tuple[object, bool]:
    """The type beside None, and whether there was a None."""
    if get_origin(annotation) not in (Union, types.UnionType):
        return annotation, False
    (inner,) = [part for part in get_args(annotation) if part is not type(None)]
    return inner, True


@each_query
def test_the_row_class_has_the_columns_of_its_statement(
    query: Query[object], described: dict[str, list[Column]]
) -> None:
    assert {column.name for column in described[query.name]} == {
        field.name
        for field in fields(query.row)  # type: ignore[arg-type]
    }
    annotations = get_type_hints(query.row)
    for column in described[query.name]:
        python_type, may_be_none = optional(annotations[column.name])
        assert python_type == PYTHON_TYPES[column.type], column
        if column.nullable is not None:
            nullable = column.nullable and (query.name, column.name) not in NEVER_NULL_HERE
            assert may_be_none == nullable, column


async def test_the_service_may_run_every_statement(database: DatabaseUrls) -> None:
    connection = await asyncpg.connect(database.app)
    try:
        for query in QUERIES:
            # Planning checks privileges; a generic plan needs no arguments.
            await connection.execute(f"explain (generic_plan) {query.text}")
    finally:
        await connection.close()


def test_each_statement_is_declared_once() -> None:
    assert [name for name, times in Counter(query.name for query in QUERIES).items() if times > 1] == []
    written = {f"{file}.{name}" for file in STATEMENT_FILES for name in db.query.blocks(file).statements}
    assert {query.name for query in QUERIES} == written


@pytest.mark.parametrize("file", STATEMENT_FILES)
def test_a_file_of_statements_is_tidy(file: str) -> None:
    assert (ROOT / "db" / f"{file}.py").is_file()
    text = (ROOT / "db" / f"{file}.sql").read_text("utf-8")
    assert text.startswith("-- "), "what stands before the first block would be lost"
    blocks = re.findall(r"^-- (?:name|fragment): *(.*)$", text, re.MULTILINE)
    assert len(blocks) == len(set(blocks))
    parsed = db.query.blocks(file)
    assert set(blocks) == {*parsed.statements, *parsed.fragments}
    assert set(re.findall(r"-- include: *(.*)$", text, re.MULTILINE)) == set(parsed.fragments)
    for name, statement in parsed.statements.items():
        assert "-- include:" not in statement, name
        assert statement.rstrip().endswith(";"), name
