"""The README's five-minute tour: every block marked `sh tour`, in order, in one shell, as a newcomer pastes them."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import httpx
import pytest
import zstandard

from tests.markdown import README, fences
from tests.service import PROJECT, Service, environment


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("tour")


@pytest.fixture(scope="module")
def outputs(service: Service, folder: Path) -> list[str]:
    """What each block printed."""
    blocks = fences(README, "sh tour")
    # `uv run` would look for the network and write into the checkout; this environment is what it would make.
    uv = folder / "bin" / "uv"
    uv.parent.mkdir()
    uv.write_text(
        f'#!/bin/sh\n[ "$1 $2" = "run agentforge" ] || exit 64\nshift 2\nexec {sys.executable} -m agentforge "$@"\n'
    )
    uv.chmod(0o755)
    script = "".join(f"echo '=== block ==='\n{block}" for block in blocks)
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", script],
        cwd=folder,
        env=environment(
            PATH=f"{uv.parent}:{os.environ['PATH']}",
            PYTHONPATH=str(PROJECT),
            NO_PROXY="127.0.0.1",
            AGENTFORGE_DATA_DIR=str(service.data_dir),
            AGENTFORGE_URL=service.url,
        ),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    # The one command that tells how it went beside its output.
    assert re.fullmatch(r"[\d,]+ lines, [\d,]+ bytes, SHA-256 [0-9a-f]{64}, as of \S+\n", done.stderr)
    before, *found = done.stdout.split("=== block ===\n")
    assert (before, len(found)) == ("", 7), "the tests below tell the seven blocks apart by their order"
    return found


def test_it_resets_into_another_world(outputs: list[str]) -> None:
    assert re.search(r"^attempt 8: \w+", outputs[0], re.MULTILINE)
    assert re.search(r"^completed: .* of 8 attempts \(world seed [1-9]\d*\)$", outputs[0], re.MULTILINE)
    assert re.search(r"^pass@k for k = 1 to 8: ", outputs[0], re.MULTILINE)


def test_it_makes_a_token_without_printing_it(outputs: list[str]) -> None:
    assert outputs[1] == ""
    assert "agentforge_" not in "".join(outputs)


def test_it_asks_why_the_agent_fails(outputs: list[str]) -> None:
    version = json.loads(outputs[2])["data"]["environment"]["latestVersion"]
    assert version["capabilityGaps"]["trials"] >= 16
    assert "checkout_incomplete" in {gap["failureCategory"] for gap in version["capabilityGaps"]["gaps"]}
    assert {one["stage"] for one in version["partialRewards"]} == {"stage_inventory", "stage_checkout"}
    assert [one["k"] for one in version["passAtK"]] == list(range(1, 9))


def test_it_makes_a_link_that_signs_in(outputs: list[str], service: Service) -> None:
    link = outputs[3].strip()
    assert link.startswith(f"{service.url}/sign-in?link=")
    with httpx.Client(base_url=service.url) as browser:
        assert browser.get(link).status_code == 303
        asked = {"query": "{ viewer { email } }"}
        assert browser.post("/graphql", json=asked).json() == {"data": {"viewer": {"email": "owner@demo.example"}}}


def test_it_downloads_rollouts(outputs: list[str], folder: Path) -> None:
    lines = [json.loads(line) for line in (folder / "agentforge-rollouts-recovery.jsonl").read_text().splitlines()]
    assert lines
    assert all(0 < line["reward"] < 1 and line["trajectory"] for line in lines)
    assert outputs[4].startswith('{"schemaVersion":1,"privacyClass":"PRIVATE","format":"atif-shaped","rolloutId":')
    pair = json.loads(outputs[4].splitlines()[-1][outputs[4].splitlines()[-1].rindex('{"schemaVersion"') :])
    assert (pair["format"], pair["privacyClass"]) == ("preference-pair", "PRIVATE")


def test_it_exports_a_file(outputs: list[str], folder: Path) -> None:
    assert outputs[5] == ""
    content = zstandard.ZstdDecompressor().decompressobj().decompress((folder / "failed.jsonl.zst").read_bytes())
    lines = [json.loads(line) for line in content.splitlines()]
    assert lines
    assert all(line["reward"] < 1 for line in lines)


def test_it_evaluates_an_agent_of_ones_own(outputs: list[str]) -> None:
    assert re.search(r"^attempt 2: failed  0 .*nothing_done$", outputs[6], re.MULTILINE)
    assert re.search(r"^completed: 2 failed of 2 attempts ", outputs[6], re.MULTILINE)
