"""Rollouts, single rollouts and artifacts over HTTP, against each other and against the graph."""

import gzip
import json
from collections.abc import Callable
from typing import Any

import httpx
import pytest
import zstandard

from tests.contract.documents import RUNS, UNKNOWN_ID, pages
from tests.service import Client, Service

FILES = {
    "all": "agentforge-rollouts-all.jsonl",
    "successful": "agentforge-rollouts-successful.jsonl",
    "failed": "agentforge-rollouts-failed.jsonl",
    "recovery": "agentforge-rollouts-recovery.jsonl",
    "preference": "agentforge-preferences.jsonl",
}

CLASSES: dict[str, Callable[[float | None], bool]] = {
    "successful": lambda reward: reward == 1,
    "failed": lambda reward: reward is not None and reward < 1,
    "recovery": lambda reward: reward is not None and 0 < reward < 1,
}

LINE = ["schemaVersion", "privacyClass", "format", "rolloutId", "seed", "reward", "evaluationRunId", "trajectory"]
PAIR = [
    "schemaVersion",
    "privacyClass",
    "format",
    "environmentVersionId",
    "preferred",
    "rejected",
    "preferredReward",
    "rejectedReward",
]
STEP = ["step", "tool", "command", "observation"]

ROLLOUTS = """query($after: String) { page: rollouts(first: 50, after: $after) { pageInfo { hasNextPage endCursor }
  edges { node { id seed reward stages { name value } evaluationRun { id } environmentVersion { id }
    trial { attempt trajectory { artifactUrl log stepCount steps(first: 200) { totalCount
      edges { node { step tool command observation } } } } } } } } }"""


@pytest.fixture
def client(service: Service) -> Client:
    return service.client


def keys(text: str) -> list[str]:
    """The keys of a JSON object as they stand in its text, repeated ones too."""
    pairs: list[tuple[str, Any]] = json.loads(text, object_pairs_hook=list)
    return [name for name, _ in pairs]


def raw(client: Client, path: str, encoding: str) -> tuple[httpx.Headers, bytes]:
    """The body as it was sent."""
    headers = {"Authorization": f"Bearer {client.token}", "Accept-Encoding": encoding}
    with httpx.stream("GET", client.url + path, headers=headers) as response:
        assert response.status_code == 200
        return response.headers, b"".join(response.iter_raw())


def texts(client: Client, kind: str, **filters: object) -> list[str]:
    """The lines of an export, not yet parsed."""
    response = client.get("/api/v1/rollouts", params={"kind": kind, **filters})
    assert response.status_code == 200, response.text
    body = response.content.decode()
    assert body == "" or body.endswith("\n")
    return body.split("\n")[:-1]


def rows(client: Client, kind: str, **filters: object) -> list[dict[str, Any]]:
    return [json.loads(text) for text in texts(client, kind, **filters)]


@pytest.mark.parametrize("kind", FILES)
def test_each_kind_is_a_private_file_of_lines(client: Client, kind: str) -> None:
    response = client.get("/api/v1/rollouts", params={"kind": kind})
    assert response.status_code == 200
    assert response.headers["Content-Type"] == "application/x-ndjson"
    assert response.headers["Content-Disposition"] == f'attachment; filename="{FILES[kind]}"'
    assert "no-store" in response.headers["Cache-Control"]
    lines = texts(client, kind)
    assert lines
    for text in lines:
        assert keys(text) == (PAIR if kind == "preference" else LINE)
        assert text.startswith('{"schemaVersion":1,"privacyClass":"PRIVATE","format":"')


@pytest.mark.parametrize("kind", FILES)
def test_compressed_they_are_the_same_bytes(client: Client, kind: str) -> None:
    path = f"/api/v1/rollouts?kind={kind}"
    headers, plain = raw(client, path, "identity")
    assert "Content-Encoding" not in headers
    decompressors: dict[str, Callable[[bytes], bytes]] = {
        "gzip": gzip.decompress,
        "zstd": lambda body: zstandard.ZstdDecompressor().decompressobj().decompress(body),
    }
    for encoding, decompress in decompressors.items():
        headers, packed = raw(client, path, encoding)
        assert headers["Content-Encoding"] == encoding
        assert "accept-encoding" in headers["Vary"].lower()
        assert decompress(packed) == plain


def test_a_line_holds_the_steps_of_its_attempt(client: Client) -> None:
    lines = rows(client, "all")
    assert {line["format"] for line in lines} <= {"atif-shaped", "rollout"}
    for line in lines:
        steps = line["trajectory"]
        assert line["format"] == ("atif-shaped" if steps else "rollout")
        assert [list(step) for step in steps] == [STEP] * len(steps)
        assert [step["step"] for step in steps] == list(range(1, len(steps) + 1))
        assert type(line["seed"]) is int
        assert line["reward"] is None or type(line["reward"]) in (int, float)
    ids = [line["rolloutId"] for line in lines]
    assert ids == sorted(set(ids), reverse=True), "ids are ordered by time: the newest first, each once"


def test_the_classes_are_cut_from_all(client: Client) -> None:
    everything = texts(client, "all")
    assert 0 < len(everything) < 1000
    rewards = [json.loads(text)["reward"] for text in everything]
    assert None in rewards, "the demo has an unscored attempt"
    for kind, belongs in CLASSES.items():
        expected = [text for text, reward in zip(everything, rewards, strict=True) if belongs(reward)]
        assert texts(client, kind) == expected
        assert expected


def test_all_is_the_default_and_no_more_than_1000(client: Client) -> None:
    assert client.get("/api/v1/rollouts").content == client.get("/api/v1/rollouts?kind=all").content
    assert texts(client, "all", limit=3) == texts(client, "all")[:3]
    refused = client.get("/api/v1/rollouts", params={"kind": "all", "limit": 1001})
    assert (refused.status_code, refused.json()["field"]) == (400, ["limit"])


def test_a_pair_is_the_best_against_the_worst_of_its_version(client: Client) -> None:
    scored: dict[str, list[tuple[float, str]]] = {}
    for rollout in sorted(pages(client, ROLLOUTS), key=lambda one: str(one["id"])):
        if rollout["reward"] is not None:
            scored.setdefault(rollout["environmentVersion"]["id"], []).append((rollout["reward"], rollout["id"]))
    expected = {}
    for version, found in scored.items():
        # Of equal rewards the newest is preferred and the oldest rejected.
        best, worst = max(found), min(found)
        if best[0] != worst[0]:
            expected[version] = (best[1], worst[1], best[0], worst[0])
    lines = rows(client, "preference")
    assert expected
    assert {tuple(line.values())[3]: tuple(line.values())[4:] for line in lines} == expected
    assert [line["environmentVersionId"] for line in lines] == sorted(expected, reverse=True)
    assert {line["format"] for line in lines} == {"preference-pair"}
    for version, pair in expected.items():
        assert [tuple(line.values())[4:] for line in rows(client, "preference", environmentVersionId=version)] == [pair]


def test_an_unknown_kind_is_a_problem_that_names_the_five(client: Client) -> None:
    for kind in ("best", "ALL", ""):
        refused = client.get("/api/v1/rollouts", params={"kind": kind})
        assert refused.status_code == 400
        assert refused.headers["Content-Type"] == "application/problem+json"
        problem = refused.json()
        assert (problem["status"], problem["title"], problem["field"]) == (400, "Bad Request", ["kind"])
        assert all(name in problem["detail"] for name in FILES)


def test_one_rollout_agrees_with_its_line_and_with_the_graph(client: Client) -> None:
    lines = {line["rolloutId"]: line for line in rows(client, "all")}
    graph = {rollout["id"]: rollout for rollout in pages(client, ROLLOUTS)}
    assert lines.keys() == graph.keys()
    for key, line in lines.items():
        response = client.get(f"/api/v1/rollouts/{key}")
        assert response.headers["Content-Type"] == "application/json"
        assert keys(response.text) == ["id", "seed", "reward", "environmentVersionId", "evaluationRunId", "stages"]
        known = graph[key]
        assert response.json() == {
            "id": key,
            "seed": int(known["seed"]),
            "reward": known["reward"],
            "environmentVersionId": known["environmentVersion"]["id"],
            "evaluationRunId": known["evaluationRun"]["id"],
            "stages": {stage["name"]: stage["value"] for stage in known["stages"]},
        }
        assert (line["seed"], line["reward"], line["evaluationRunId"]) == (
            int(known["seed"]),
            known["reward"],
            known["evaluationRun"]["id"],
        )


def test_what_is_not_there_is_one_answer(client: Client) -> None:
    for noun in ("rollouts", "artifacts"):
        answers = [client.get(f"/api/v1/{noun}/{name}") for name in (UNKNOWN_ID, "not-an-id", "0" * 32, "%00")]
        assert {answer.status_code for answer in answers} == {404}
        assert {answer.headers["Content-Type"] for answer in answers} == {"application/problem+json"}
        assert len({answer.content for answer in answers}) == 1


def test_an_artifact_holds_the_log_and_the_steps_that_graph_and_line_show(client: Client) -> None:
    lines = {line["rolloutId"]: line for line in rows(client, "all")}
    for rollout in pages(client, ROLLOUTS):
        attempt, trajectory = rollout["trial"]["attempt"], rollout["trial"]["trajectory"]
        response = client.get(trajectory["artifactUrl"])
        assert response.headers["Content-Disposition"] == f'attachment; filename="trial-{attempt}-trajectory.json"'
        assert keys(response.text) == ["schemaVersion", "log", "trajectory"]
        artifact = response.json()
        assert (artifact["schemaVersion"], artifact["log"]) == (1, trajectory["log"])
        inner = json.loads(artifact["trajectory"])
        assert list(inner) == ["steps"]
        assert inner["steps"] == lines[rollout["id"]]["trajectory"]
        assert inner["steps"] == [edge["node"] for edge in trajectory["steps"]["edges"]]
        assert trajectory["stepCount"] == trajectory["steps"]["totalCount"] == len(inner["steps"])


def test_every_attempt_that_ended_by_itself_has_its_rollout(client: Client) -> None:
    trials = [trial for run in pages(client, RUNS) for trial in run["trials"]]
    with_rollout = [trial for trial in trials if trial["rollout"]]
    assert {trial["rollout"]["id"] for trial in with_rollout} == {line["rolloutId"] for line in rows(client, "all")}
    assert with_rollout == [trial for trial in trials if trial["status"] in ("COMPLETED", "ERRORED", "TIMED_OUT")]
