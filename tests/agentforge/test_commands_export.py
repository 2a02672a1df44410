"""agentforge export against a service process: what it writes, where, and what it says when it cannot."""

import asyncio
import gzip
import hashlib
import json
import os
import pty
import signal
import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest
import zstandard

from db.tenant import Tenant
from streaming.places import PLACES
from tests.agentforge.between import Between, between
from tests.agentforge.exporting import (
    Api,
    begin,
    end,
    export,
    exporting_api,
    free_port,
    names,
    settings,
)
from tests.service import command_json
from tests.streaming.rows import create_many
from tests.streaming.web import application, serve

LINES, SIZE = 200, 64_000
FAILED = ("--kind", "failed", "--out")


@pytest.fixture(scope="module")
async def api() -> AsyncIterator[Api]:
    async with exporting_api(LINES, SIZE) as running:
        yield running


def unframed(content: bytes) -> bytes:
    return zstandard.ZstdDecompressor().decompressobj().decompress(content)


@pytest.fixture(scope="module")
def whole(api: Api) -> bytes:
    content = api.get(kind="failed")
    assert content.count(b"\n") == LINES
    return content


@pytest.mark.parametrize(
    ("name", "read"), [("a.jsonl", bytes), ("a.jsonl.gz", gzip.decompress), ("a.jsonl.zst", unframed)]
)
def test_a_file_is_compressed_by_its_name(
    name: str, read: Callable[[bytes], bytes], api: Api, whole: bytes, tmp_path: Path
) -> None:
    ended = export(*FAILED, tmp_path / name, "--json", url=api.url, token=api.token)
    assert (ended.code, ended.err) == (0, "")
    told = json.loads(ended.out)
    assert told.pop("snapshotAt")
    assert told == {
        "file": str(tmp_path / name),
        "rollouts": LINES,
        "bytes": len(whole),
        "sha256": hashlib.sha256(whole).hexdigest(),
        "parts": 1,
        "verified": LINES,
        "skipped": {},
    }
    content = (tmp_path / name).read_bytes()
    assert read(content) == whole
    assert (len(content) < len(whole)) == (name != "a.jsonl")
    assert names(tmp_path) == [name]


def test_filters_are_passed_on_as_given(api: Api, whole: bytes, tmp_path: Path) -> None:
    every = {
        "--since": "2020-01-01T00:00:00+00:00",
        "--until": "2100-01-01T00:00:00Z",
        "--limit": "3",
        "--evaluation-run": json.loads(whole.splitlines()[0])["evaluationRunId"],
    }
    given = [part for pair in every.items() for part in pair]
    one = export(*FAILED, "-", *given, url=api.url, token=api.token)
    assert (one.code, one.out) == (0, whole[: whole.index(b"\n") + 1])
    pairs = export("--kind", "preference", "--out", "-", url=api.url, token=api.token)
    assert (pairs.code, pairs.out) == (0, b""), "all rewards are equal"
    refused = export(*FAILED, tmp_path / "a", "--environment-version", "none", url=api.url, token=api.token)
    assert refused.code == 2
    assert refused.err.endswith("(field: environmentVersionId)\n")


def test_a_pipe_gets_lines_and_nothing_else(api: Api, whole: bytes) -> None:
    ended = export(*FAILED, "-", url=api.url, token=api.token)
    assert (ended.code, ended.out) == (0, whole)
    assert ended.err.startswith(
        f"200 lines, {len(whole):,} bytes, SHA-256 {hashlib.sha256(whole).hexdigest()}, as of 2"
    )


async def test_a_pipe_whose_reader_leaves_ends_it_quietly(api: Api, whole: bytes) -> None:
    script = f'set -o pipefail; {sys.executable} -m agentforge export --kind failed --out - | head -n 1; echo "$?"'
    process = await asyncio.create_subprocess_exec(
        "bash", "-c", script, env=settings(api.url, api.token), stdout=-1, stderr=-1
    )
    ended = await end(process, api.token)
    assert ended.out == whole[: whole.index(b"\n") + 1] + b"%d\n" % (128 + signal.SIGPIPE)
    assert ended.err == ""


def test_what_cannot_be_is_said_in_one_line(api: Api, tmp_path: Path) -> None:
    target = tmp_path / "kept.jsonl"
    target.write_text("from before\n")
    worker = command_json("token", "create", "--organization", "acme", "--role", "worker", data_dir=api.data_dir)
    nobody = f"http://127.0.0.1:{free_port()}"
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    cases: list[tuple[tuple[str | Path, ...], str, str, int, str]] = [
        ((*FAILED, target), api.url, "agentforge_" + "x" * 43, 1, "The service answered 401: Sign in, or send"),
        ((*FAILED, target), api.url, worker["token"], 1, "The service answered 403: The role worker may not"),
        (("--kind", "best", "--out", target), api.url, api.token, 2, "400: kind must be one of all, successful, "),
        ((*FAILED, target), nobody, api.token, 1, f"{nobody} cannot be reached: ["),
        ((*FAILED, target), "example.com", api.token, 2, "must be one such as https://forge.example.com."),
        ((*FAILED, target), api.url, "two words", 2, "AGENTFORGE_TOKEN must hold a token"),
        ((*FAILED, tmp_path), api.url, api.token, 1, "is there and is no file"),
        ((*FAILED, fifo), api.url, api.token, 1, "is there and is no file"),
        ((*FAILED, tmp_path / "no" / "a"), api.url, api.token, 1, "cannot be written: No such file or directory."),
        ((*FAILED, "-", "--json"), api.url, api.token, 2, "--json has no place"),
    ]
    for arguments, url, token, code, message in cases:
        ended = export(*arguments, url=url, token=token)
        assert message in ended.err
        assert (ended.code, ended.out, ended.err.count("\n")) == (code, b"", 1), ended.err
    assert target.read_text() == "from before\n"
    assert names(tmp_path) == ["fifo", "kept.jsonl"]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
async def test_what_is_interrupted_leaves_no_file(
    api: Api, whole: bytes, tmp_path: Path, number: signal.Signals
) -> None:
    target = tmp_path / "a.jsonl"
    async with between(Between(("127.0.0.1", api.port), hold_after=1_000_000)) as proxy:
        process = await begin(*FAILED, target, url=proxy.url, token=api.token)
        await proxy.held.wait()
        second = export(*FAILED, target, url=api.url, token=api.token)
        assert (second.code, second.err) == (1, f"Error: Another process is writing {tmp_path / '.a.jsonl.part'}.\n")
        process.send_signal(number)
        assert (await end(process, api.token)).code != 0
    assert names(tmp_path) == ([] if number is signal.SIGINT else [".a.jsonl.part"])
    assert export(*FAILED, target, url=api.url, token=api.token).code == 0
    assert target.read_bytes() == whole
    assert names(tmp_path) == ["a.jsonl"]


async def resumed(api: Api, arguments: list[str | Path], interrupt: str) -> tuple[str, bytes]:
    """What a command said and wrote whose transfer was broken midway by `interrupt`."""
    async with between(Between(("127.0.0.1", api.port), hold_after=1_000_000)) as proxy:
        process = await begin(*FAILED, *arguments, url=proxy.url, token=api.token)
        ending = asyncio.create_task(end(process, api.token))
        await proxy.held.wait()
        if interrupt == "backend":
            assert await api.end_backends() == 1
        else:
            await api.kill()
        proxy.go.set()
        if interrupt != "backend":
            await api.start()
        ended_process = await ending
    assert ended_process.code == 0, ended_process.err
    return ended_process.err, ended_process.out


@pytest.mark.parametrize("interrupt", ["backend", "service"])
async def test_a_broken_transfer_is_gone_on_with(api: Api, whole: bytes, tmp_path: Path, interrupt: str) -> None:
    target = tmp_path / "a.jsonl.zst"
    said, _ = await resumed(api, [target], interrupt)
    assert unframed(target.read_bytes()) == whole
    assert names(tmp_path) == ["a.jsonl.zst"]
    assert "The transfer broke off: " in said
    assert " Trying again after " in said
    *_, last_but_one, last = said.splitlines()
    assert last_but_one.startswith(f"200 lines, {len(whole):,} bytes, SHA-256 {hashlib.sha256(whole).hexdigest()}")
    assert last.endswith("were checked to be whole and in order.")


async def test_what_was_left_out_before_a_break_is_not_counted(api: Api, tmp_path: Path) -> None:
    target = tmp_path / "a.jsonl"
    said, _ = await resumed(api, [target, "--format", "atif"], "backend")
    assert target.read_bytes() == api.get(kind="failed", format="atif")
    assert said.splitlines()[-1] == "What the format cannot carry was counted in the last transfer alone."


async def test_a_pipe_goes_on_too_and_keeps_its_limit(api: Api, whole: bytes) -> None:
    said, out = await resumed(api, ["-", "--limit", "150"], "backend")
    assert out == b"".join(whole.splitlines(keepends=True)[:150])
    assert said.splitlines()[-2].startswith("150 lines, ")


async def test_what_cannot_be_resumed_starts_over(api: Api, whole: bytes, tmp_path: Path) -> None:
    """Lines that lose their rollout's id on the way are like those of pairs, of which there are never so many."""
    target = tmp_path / "a.jsonl.gz"

    def anonymous(piece: bytes) -> bytes:
        return piece.replace(b'"rolloutId"', b'"versionId"')

    for destination in (target, "-"):
        proxy = Between(("127.0.0.1", api.port), 1_000_000, plain_asking, anonymous)
        async with between(proxy):
            process = await begin(
                "--kind", "failed", "--out", destination, "--tries", "2", url=proxy.url, token=api.token
            )
            await proxy.held.wait()
            assert await api.end_backends() == 1
            proxy.go.set()
            ended = await end(process, api.token)
        assert ended.code == 1
        if destination == "-":
            assert "what is in the pipe cannot be taken back." in ended.err
        else:
            assert "Trying again from the start" in ended.err
            assert "does not fit its manifest" in ended.err  # the changed names: nothing was kept
    assert names(tmp_path) == []


def plain_asking(piece: bytes) -> bytes:
    """The request without compression, of the same length."""
    asked = b"Accept-Encoding: zstd, gzip;q=0.5"
    return piece.replace(asked, b"Accept-Encoding: identity".ljust(len(asked)))


async def test_what_was_changed_on_the_way_is_not_kept(api: Api, tmp_path: Path) -> None:
    def changed(piece: bytes) -> bytes:
        return piece.replace(b'"reward":0.5,', b'"reward":0.6,')

    proxy = Between(("127.0.0.1", api.port), None, plain_asking, changed)
    async with between(proxy):
        ended = await end(await begin(*FAILED, tmp_path / "a.jsonl", url=proxy.url, token=api.token), api.token)
    assert ended.code == 1
    assert "Error: What came does not fit its manifest: 200 lines with SHA-256 " in ended.err
    assert names(tmp_path) == []


async def test_a_terminal_shows_lines_bytes_and_rate(api: Api, tmp_path: Path) -> None:
    ours, theirs = pty.openpty()
    shown = bytearray()
    asyncio.get_running_loop().add_reader(ours, lambda: shown.extend(os.read(ours, 65_536)))
    command = [sys.executable, "-m", "agentforge", "export", *FAILED, str(tmp_path / "a.jsonl")]
    environment = settings(api.url, api.token) | {"TERM": "xterm", "COLUMNS": "120"}
    process = await asyncio.create_subprocess_exec(*command, env=environment, stdout=-1, stderr=theirs)
    out, _ = await process.communicate()
    os.close(theirs)
    asyncio.get_running_loop().remove_reader(ours)
    os.close(ours)
    assert (process.returncode, out) == (0, b"")
    text = shown.decode()
    assert "failed" in text
    assert "200 lines, 12.9 MB, " in text
    assert "MB/s" in text
    assert "\x1b[" in text


async def test_a_service_with_no_place_is_come_back_to(
    acme: Tenant, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await create_many(acme, 2, 100)
    monkeypatch.setattr(PLACES, "most", 0)
    monkeypatch.setattr("streaming.places.RETRY_SECONDS", 1)
    async with serve(application(acme)) as (host, port):
        process = await begin(*FAILED, tmp_path / "a.jsonl", url=f"http://{host}:{port}", token="any")
        assert process.stderr is not None
        note = (await process.stderr.readline()).decode()
        assert note == (
            "The service answered 429: 0 exports are under way, which is as many as there may be; try again. "
            "Trying again from the start in 1.0 s.\n"
        )
        PLACES.most = 1
        assert (await end(process, "no token at all")).code == 0
    assert (tmp_path / "a.jsonl").read_bytes().count(b"\n") == 2
