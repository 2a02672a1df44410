"""The operator's commands as processes, while another process (this one) holds the same embedded server."""

import asyncio
import json
import os
import re
import sys
import tempfile
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from db.embedded import DatabaseUrls, embedded_server
from db.migrate import migrations
from db.pool import open_pool
from db.tenant import Pool
from resolvers import accounts, members

ADA = "ada@example.com"
DAY = timedelta(days=1)


@dataclass(frozen=True)
class Ended:
    code: int
    out: str
    err: str

    def json(self) -> Any:
        assert (self.code, self.err) == (0, "")
        (line,) = self.out.splitlines()
        return json.loads(line)


@pytest.fixture(scope="module")
def data_dir() -> Iterator[Path]:
    # Not pytest's tmp_path: a socket's path may be 107 bytes long at most.
    with tempfile.TemporaryDirectory(prefix="af", ignore_cleanup_errors=True) as directory:
        Path(directory).chmod(0o755)
        yield Path(directory)


@pytest.fixture(scope="module")
def urls(data_dir: Path) -> Iterator[DatabaseUrls]:
    with embedded_server(data_dir) as urls:
        yield urls


async def agentforge(*arguments: str, stdin: bytes = b"", **variables: str) -> Ended:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "agentforge", *arguments),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env={"PATH": os.environ["PATH"], "TMPDIR": tempfile.gettempdir(), "COLUMNS": "200", **variables},
    )
    async with asyncio.timeout(60):
        out, err = await process.communicate(stdin)
    assert process.returncode is not None
    return Ended(process.returncode, out.decode(), err.decode())


@pytest.fixture(scope="module")
async def created(urls: DatabaseUrls, data_dir: Path) -> dict[str, str]:
    """What `organization create` printed for acme; there is a rival, too."""
    first = await agentforge("migrate", "--json", "--data-dir", str(data_dir))
    assert first.json() == {"applied": [f"{one.version:04}_{one.name}" for one in migrations()]}
    made = await asyncio.gather(
        *(
            agentforge("organization", "create", slug, "--owner", owner, "--json", AGENTFORGE_DATA_DIR=str(data_dir))
            for slug, owner in (("acme", "Ada@Example.com"), ("rival", "eve@example.com"))
        )
    )
    acme: dict[str, str] = made[0].json()
    assert made[1].json()["organization"] == "rival"
    return acme


@pytest.fixture(scope="module")
async def pool(urls: DatabaseUrls, created: dict[str, str]) -> AsyncIterator[Pool]:
    async with open_pool(urls.app, application_name="test", max_size=2) as pool:
        yield pool


@pytest.fixture(scope="module")
def in_acme(data_dir: Path) -> tuple[str, ...]:
    return ("--organization", "acme", "--data-dir", str(data_dir))


async def test_help_is_there_at_once_and_names_the_commands() -> None:
    shown = await agentforge("--help")
    assert shown.code == 0
    for name in ("organization", "member", "token", "sign-in-link", "migrate"):
        assert re.search(rf"\b{name}\b", shown.out)
    # At once, because nothing of the service is imported before a command runs.
    loaded = "import sys, agentforge.__main__; print({'asyncpg', 'pydantic', 'rich', 'db'} & set(sys.modules))"
    process = await asyncio.create_subprocess_exec(sys.executable, "-c", loaded, stdout=asyncio.subprocess.PIPE)
    out, _ = await process.communicate()
    assert out == b"set()\n"


async def test_an_organization_comes_with_an_owner_and_a_token(created: dict[str, str], pool: Pool) -> None:
    assert list(created) == ["organization", "organizationId", "owner", "token"]
    assert (created["organization"], created["owner"]) == ("acme", ADA)
    identity = await accounts.identify(pool, created["token"])
    assert identity is not None
    assert (str(identity.organization_id), identity.role) == (created["organizationId"], "owner")
    tenant = await accounts.tenant_of(pool, "acme")
    assert (await members.member_by_email(tenant, ADA)).role == "owner"


async def test_a_token_lives_from_create_to_revoke(
    created: dict[str, str], pool: Pool, in_acme: tuple[str, ...]
) -> None:
    before = datetime.now(UTC)
    token = (await agentforge("token", "create", "--role", "WORKER", "--days", "3", "--json", *in_acme)).json()
    assert list(token) == ["id", "token", "expiresAt"]
    assert token["expiresAt"].endswith("Z")
    assert abs(datetime.fromisoformat(token["expiresAt"]) - before - timedelta(days=3)) < timedelta(minutes=5)
    assert await accounts.identify(pool, token["token"]) is not None

    in_rival = ("--organization", "rival", *in_acme[2:])
    foreign, unknown, revoked = await asyncio.gather(
        agentforge("token", "revoke", token["id"], *in_rival),
        agentforge("token", "revoke", str(uuid4()), *in_acme),
        agentforge("token", "revoke", token["id"], "--json", *in_acme),
    )
    for refused in (foreign, unknown):
        assert (refused.code, refused.out) == (1, "")
        assert refused.err == "Error: There is no such token.\n"
    assert list(revoked.json()) == ["id", "revokedAt"]
    assert await accounts.identify(pool, token["token"]) is None

    listed, prose = await asyncio.gather(
        agentforge("token", "list", "--json", *in_acme), agentforge("token", "list", *in_acme)
    )
    assert [(one["name"], one["role"], one["revokedAt"] is None) for one in listed.json()] == [
        ("first", "owner", True),
        ("worker", "worker", False),
    ]
    assert token["token"] not in listed.out + prose.out
    assert f"{token['id']}  worker  revoked " in prose.out


async def test_a_member_signs_in_with_the_password_of_stdin(
    created: dict[str, str], pool: Pool, in_acme: tuple[str, ...]
) -> None:
    add = ("member", "add", "Grace@example.com", "--role", "Viewer", "--password-stdin", "--json", *in_acme)
    added, short = await asyncio.gather(
        agentforge(*add, stdin="pässword für grace\r\n".encode()), agentforge(*add, stdin=b"short\n")
    )
    assert {**added.json(), "userId": None} == {
        "organization": "acme",
        "userId": None,
        "email": "grace@example.com",
        "role": "viewer",
    }
    assert await accounts.sign_in(pool, "grace@example.com", "pässword für grace", "acme", DAY) is not None
    assert (short.code, short.out) == (2, "")
    assert short.err == "Error: A password must be 12 to 1024 characters of text, without NUL.\n"


async def test_a_link_is_printed_whole_and_signs_in(
    created: dict[str, str], pool: Pool, in_acme: tuple[str, ...]
) -> None:
    plain, given, foreign = await asyncio.gather(
        agentforge("sign-in-link", ADA, *in_acme, AGENTFORGE_PORT="8123", COLUMNS="40"),
        agentforge("sign-in-link", ADA, "--url", "https://forge.example.com/", "--json", *in_acme),
        agentforge("sign-in-link", "eve@example.com", *in_acme),
    )
    (line,) = plain.out.splitlines()
    assert line.startswith("http://127.0.0.1:8123/sign-in?link=")
    session = await accounts.redeem_sign_in_link(pool, line.partition("link=")[2], DAY)
    assert session is not None
    assert given.json()["url"].startswith("https://forge.example.com/sign-in?link=")
    assert (foreign.code, foreign.out) == (1, "")
    assert foreign.err.startswith("Error: No member has the address 'eve@example.com'")


async def test_bad_input_is_2_everything_else_1_and_neither_a_traceback(
    created: dict[str, str], data_dir: Path, in_acme: tuple[str, ...], tmp_path: Path
) -> None:
    here = ("--data-dir", str(data_dir))
    create = ("organization", "create")
    nobody = f"There is no organization 'nobody'. The data folder is {data_dir}."
    old = tmp_path / "old"
    (old / "postgres").mkdir(parents=True)
    (old / "postgres" / "PG_VERSION").write_text("15\n")
    closed = "postgresql://agentforge_app:hunter2@127.0.0.1:1/x"
    expected = {
        (*create, "acme", "--owner", ADA, *here): (1, "There is an organization 'acme' already"),
        (*create, "Acme Labs", "--owner", ADA, *here): (2, "A slug is 1 to 63"),
        ("token", "create", "--role", "admin", *in_acme): (2, "'admin' is not one of"),
        ("token", "create", "--role", "viewer", "--days", "0", *in_acme): (2, "greater than or equal to 1"),
        ("token", "revoke", "7", *in_acme): (2, "valid UUID"),
        ("token", "list", "--organization", "nobody", *here): (1, nobody),
        ("token", "list", "--organization", "acme", "--data-dir", str(old)): (1, "was made by PostgreSQL 15, and"),
    }
    ended = await asyncio.gather(
        *(agentforge(*arguments) for arguments in expected),
        agentforge("token", "list", *in_acme, AGENTFORGE_PORT="no"),
        agentforge("token", "list", *in_acme, AGENTFORGE_DATABASE_URL=closed),
        agentforge("token", "list", *in_acme, AGENTFORGE_DATABASE_URL="mysql://x"),
        agentforge("migrate", AGENTFORGE_DATABASE_URL=closed),
    )
    outcomes = [
        *expected.values(),
        (2, "AGENTFORGE_PORT: Input should be a valid integer"),
        (1, "The database cannot be reached"),
        (2, "The address of the database cannot be used"),
        (1, "The database cannot be reached"),
    ]
    for one, (code, message) in zip(ended, outcomes, strict=True):
        assert (one.code, one.out) == (code, ""), one.err
        assert message in one.err
        assert "Traceback" not in one.err
        assert "hunter2" not in one.err


async def test_the_service_role_is_checked_and_only_the_owner_migrates(
    created: dict[str, str], urls: DatabaseUrls, in_acme: tuple[str, ...]
) -> None:
    superuser = urls.owner.replace("agentforge_owner@", "postgres@")
    migrated, unsafe, listed = await asyncio.gather(
        agentforge("migrate", "--json", AGENTFORGE_OWNER_DATABASE_URL=urls.owner),
        agentforge("token", "list", *in_acme, AGENTFORGE_DATABASE_URL=superuser),
        agentforge("token", "list", "--json", "--organization", "acme", AGENTFORGE_DATABASE_URL=urls.app),
    )
    assert migrated.json() == {"applied": []}
    assert unsafe.code == 1
    assert "bypasses row-level security" in unsafe.err
    assert listed.json()[0]["name"] == "first"
