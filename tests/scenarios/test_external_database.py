"""A PostgreSQL server of one's own: over TCP, with passwords, set up as docs/operations.md says."""

import re
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import asyncpg
import pytest

from db.embedded import start_server
from tests.service import PROJECT, Client, command, command_json, running_service, short_directory, with_the_example

PASSWORD = "a-password"


def documented_grants() -> list[str]:
    """The statements that the documentation asks a superuser to run."""
    text = (PROJECT / "docs" / "operations.md").read_text("utf-8")
    block = re.search(r"```sql\n(.*?)```", text, re.DOTALL)
    assert block is not None
    without_comments = re.sub(r"--.*", "", block[1]).replace("'...'", f"'{PASSWORD}'")
    return [statement for statement in without_comments.split(";") if statement.strip()]


@pytest.fixture(scope="module")
def superuser() -> Iterator[dict[str, Any]]:
    """How to reach a server that listens on TCP, where it takes passwords only, as its superuser."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with short_directory() as directory:
        server = start_server(directory / "data")
        server.stop()
        data = server.pgdata
        (data / "pg_hba.conf").write_text("local all postgres trust\nhost all all 127.0.0.1/32 scram-sha-256\n")
        with (data / "postgresql.conf").open("a") as configuration:
            configuration.write(f"\nlisten_addresses = '127.0.0.1'\nport = {port}\n")
            configuration.write(f"unix_socket_directories = '{data}'\n")
        control = [str(server.bin_path / "pg_ctl"), "-D", str(data), "-w", "-l", str(data / "log")]
        subprocess.run([*control, "start"], check=True, stdout=subprocess.DEVNULL, user=server.system_user)
        try:
            yield {"host": str(data), "port": port, "user": "postgres", "database": "postgres"}
        finally:
            subprocess.run([*control, "stop"], check=True, stdout=subprocess.DEVNULL, user=server.system_user)


@pytest.fixture(scope="module")
async def urls(superuser: dict[str, Any]) -> dict[str, str]:
    """The two settings, for a database made by the documented statements."""
    connection = await asyncpg.connect(**superuser)
    try:
        for statement in documented_grants():
            await connection.execute(statement)
    finally:
        await connection.close()
    address = f"127.0.0.1:{superuser['port']}/agentforge"
    return {
        "AGENTFORGE_OWNER_DATABASE_URL": f"postgresql://agentforge_owner:{PASSWORD}@{address}",
        "AGENTFORGE_DATABASE_URL": f"postgresql://agentforge_app:{PASSWORD}@{address}",
    }


def test_the_service_runs_on_it(urls: dict[str, str], tmp_path: Path) -> None:
    app_only = {"AGENTFORGE_DATABASE_URL": urls["AGENTFORGE_DATABASE_URL"]}
    unmigrated = command("organization", "create", "acme", "--owner", "a@acme.example", settings=app_only)
    assert unmigrated.returncode == 1
    assert "agentforge migrate" in unmigrated.stderr
    migrated = command("migrate", settings=urls)
    assert migrated.returncode == 0, migrated.stderr
    with running_service(tmp_path, "--no-demo", **app_only) as started:
        service = with_the_example(started, app_only)
        evaluate = ("evaluate", "admin-console", "--agent", "echo done", "--attempts", "1", "--watch")
        command_json(*evaluate, settings=app_only)
        made = command_json("organization", "create", "rival", "--owner", "r@rival.example", settings=app_only)
        run = service.client.graph("{ evaluationRuns { edges { node { status } } } }")["evaluationRuns"]["edges"]
        assert run == [{"node": {"status": "COMPLETED"}}]
        rival = Client(service.url, made["token"])
        assert rival.graph("{ evaluationRuns { totalCount } }") == {"evaluationRuns": {"totalCount": 0}}
    assert not (tmp_path / "postgres").exists()


def test_a_role_that_sees_every_organization_is_refused(urls: dict[str, str]) -> None:
    owner = {"AGENTFORGE_DATABASE_URL": urls["AGENTFORGE_OWNER_DATABASE_URL"]}
    assert command("migrate", settings=urls).returncode == 0
    refused = command("worker", settings=owner)
    assert refused.returncode == 1
    assert "agentforge_owner" in refused.stderr
    assert "organizations would not be kept apart" in refused.stderr
    assert PASSWORD not in refused.stderr + refused.stdout


def test_a_wrong_password_is_said_without_repeating_it(urls: dict[str, str]) -> None:
    wrong = urls["AGENTFORGE_DATABASE_URL"].replace(PASSWORD, "not-the-password")
    refused = command("worker", settings={"AGENTFORGE_DATABASE_URL": wrong})
    assert refused.returncode == 1
    assert "password authentication failed" in refused.stderr
    assert "not-the-password" not in refused.stderr + refused.stdout
