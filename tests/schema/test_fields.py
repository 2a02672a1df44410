"""Every field of the graph, answered with what was stored."""

import hashlib
import json
from datetime import datetime
from importlib import metadata
from typing import Any

import pytest
from graphql import GraphQLObjectType, TypeInfo, TypeInfoVisitor, Visitor, parse, visit
from graphql.language import FieldNode

from schema.graph import graph
from tests.factory import LEFT, MANIFEST
from tests.schema.asking import SUBJECT, ask, nodes
from tests.schema.documents import ALL, BY_ID, CONFIGURATIONS, ENVIRONMENTS, ROLLOUTS, RUNS, TRIALS
from tests.schema.world import Run, Trial, World


def text(moment: datetime | None) -> str | None:
    return moment.isoformat() if moment else None


def stages(trial: Trial) -> list[dict[str, Any]]:
    return [{"name": name, "value": value} for name, value in trial.outcome.stages.items()]


def trajectory_of(trial: Trial, answered: dict[str, Any] | None) -> dict[str, Any] | None:
    if trial.row.trajectory_artifact_id is None:
        return None
    artifact, outcome, shown = trial.row.trajectory_artifact_id, trial.outcome, list(trial.outcome.steps)[:2]
    assert answered is not None
    cursors = [edge["cursor"] for edge in answered["steps"]["edges"]]
    url = f"/api/v1/artifacts/{artifact}"
    return {
        "artifactId": str(artifact),
        "artifactUrl": url,
        "agentTrajectoryUrl": f"{url}/agent-trajectory" if outcome.agent_trajectory else None,
        "atif": {
            "valid": not outcome.atif_errors,
            "version": "ATIF-v1.7",
            "errors": list(outcome.atif_errors),
            "url": f"{url}/agent-trajectory",
            "document": json.loads(outcome.agent_trajectory or b""),
        }
        if outcome.atif_errors is not None
        else None,
        "files": [
            {
                "path": path,
                "bytes": str(size),
                "sha256": content and hashlib.sha256(content).hexdigest(),
                "url": content and f"{url}/files/{id}",
                "omitted": omitted,
            }
            for id, (path, size, content, omitted) in zip(outcome.file_ids, LEFT, strict=False)
        ],
        "log": outcome.log,
        "stepCount": len(outcome.steps),
        "steps": {
            "totalCount": len(outcome.steps),
            "pageInfo": {
                "hasNextPage": len(outcome.steps) > 2,
                "hasPreviousPage": False,
                "startCursor": cursors[0] if cursors else None,
                "endCursor": cursors[-1] if cursors else None,
            },
            "edges": [{"cursor": cursor, "node": node} for cursor, node in zip(cursors, shown, strict=True)],
        },
    }


def expected_executions(trial: Trial) -> list[dict[str, Any]]:
    outcome, row = trial.outcome, trial.row
    recorded = list(outcome.steps) if outcome.status == "running" else []
    latest = {
        "execution": 1,
        "worker": "worker",
        "status": "LOST" if outcome.status == "interrupted" else outcome.status.upper(),
        "reward": outcome.reward,
        "failureCategory": outcome.category,
        "failureDetail": outcome.detail,
        "stages": stages(trial),
        "metrics": outcome.metrics,
        "startedAt": text(row.started_at),
        "endedAt": text(row.finished_at),
        "trajectory": {"artifactId": str(row.trajectory_artifact_id)} if row.trajectory_artifact_id else None,
        "recordedStepCount": len(recorded),
        "recordedSteps": {
            "totalCount": len(recorded),
            "edges": [{"node": {"step": step["step"], "observation": step["observation"]}} for step in recorded],
        },
    }
    return [latest] if row.execution else []


def expected_trial(run: Run, trial: Trial, answered: dict[str, Any]) -> dict[str, Any]:
    outcome, row = trial.outcome, trial.row
    started, ended = outcome.status != "queued", outcome.status not in ("queued", "running")
    assert ended == (row.finished_at is not None)
    assert started == (row.started_at is not None)
    return {
        "id": str(row.id),
        "attempt": row.attempt,
        "seed": str(run.row.seed),
        "status": outcome.status.upper(),
        "reward": outcome.reward,
        "failureCategory": outcome.category,
        "failureDetail": outcome.detail,
        "stages": stages(trial),
        "metrics": outcome.metrics,
        "redactions": 0,
        "execution": int(started),
        "executions": expected_executions(trial),
        "startedAt": text(row.started_at),
        "finishedAt": text(row.finished_at),
        "run": {"id": str(run.row.id)},
        "environmentVersion": {"id": str(run.version.id)},
        "rollout": {"id": str(trial.rollout.id)} if trial.rollout else None,
        "trajectory": trajectory_of(trial, answered["trajectory"]),
    }


async def test_trials_of_every_status(world: World) -> None:
    answered = (await ask(world.tenant, TRIALS))["evaluationTrials"]
    made = [(run, trial) for run in world.runs for trial in run.trials]
    pairs = zip(made, nodes(answered), strict=True)
    assert nodes(answered) == [expected_trial(run, trial, node) for (run, trial), node in pairs]
    assert answered["totalCount"] == len(made)
    assert {node["status"] for node in nodes(answered)} == {
        "QUEUED", "RUNNING", "COMPLETED", "ERRORED", "TIMED_OUT", "CANCELLED", "INTERRUPTED",
    }  # fmt: skip


async def test_runs_of_every_status(world: World) -> None:
    answered = (await ask(world.tenant, RUNS))["evaluationRuns"]
    first = nodes(answered)[0]
    assert [one["k"] for one in first["passAtK"]] == [1, 2, 3, 4, 5, 6, 7]
    assert first["passAtK"][0] == {"k": 1, "estimate": pytest.approx(1 / 7), "passHatK": pytest.approx(1 / 7)}
    assert first["passAtK"][6] == {"k": 7, "estimate": 1.0, "passHatK": 0.0}
    assert [node["status"] for node in nodes(answered)] == [
        "COMPLETED", "COMPLETED", "RUNNING", "QUEUED", "COMPLETED", "FAILED", "CANCELLED",
    ]  # fmt: skip
    assert [node["unscoredAttempts"] for node in nodes(answered)] == [3, 0, None, None, 0, 1, 1]
    assert [node["failureDetail"] for node in nodes(answered)] == [None] * 5 + ["no such program", None]
    assert [node["resetMode"] for node in nodes(answered)] == [None, "NEW_WORLD"] + [None] * 5
    assert [bool(node["passAtK"]) for node in nodes(answered)] == [True, True, False, False, True, True, True]
    for run, node in zip(world.runs, nodes(answered), strict=True):
        assert node["id"] == str(run.row.id)
        assert (node["seed"], node["attemptCount"]) == (str(run.row.seed), len(run.trials))
        assert node["trigger"] == run.row.trigger.upper()
        assert node["environmentVersion"] == {"id": str(run.version.id)}
        assert node["evaluatorConfiguration"] == {"id": str(run.configuration.id)}
        assert node["trials"] == [{"id": str(trial.row.id)} for trial in run.trials]
        assert node["createdAt"] == text(run.row.created_at)
        assert (node["startedAt"], node["finishedAt"]) == (text(run.row.started_at), text(run.row.finished_at))


async def test_rollouts(world: World) -> None:
    answered = (await ask(world.tenant, ROLLOUTS))["rollouts"]
    made = [(run, trial, trial.rollout) for run in world.runs for trial in run.trials if trial.rollout]
    assert answered["totalCount"] == len(made)
    assert nodes(answered) == [
        {
            "id": str(rollout.id),
            "seed": str(run.row.seed),
            "reward": trial.outcome.reward,
            "stages": stages(trial),
            "superseded": False,
            "createdAt": text(rollout.created_at),
            "trial": {"id": str(trial.row.id)},
            "environmentVersion": {"id": str(run.version.id)},
            "evaluationRun": {"id": str(run.row.id)},
        }
        for run, trial, rollout in reversed(made)
    ]


async def test_environments_and_their_versions(world: World) -> None:
    answered = (await ask(world.tenant, ENVIRONMENTS))["environments"]
    cursors = [edge["cursor"] for edge in answered["edges"]]
    page_info = {"hasNextPage": False, "hasPreviousPage": False, "startCursor": cursors[0], "endCursor": cursors[1]}
    assert (answered["totalCount"], answered["pageInfo"]) == (2, page_info)
    for environment, node in zip(reversed(world.environments), nodes(answered), strict=True):
        versions = [one for one in reversed(world.versions) if one.environment_id == environment.id]
        assert node["id"] == str(environment.id)
        assert (node["slug"], node["name"]) == (environment.slug, environment.slug)
        assert node["createdAt"] == text(environment.created_at)
        assert node["latestVersion"] == {"id": str(versions[0].id)}
        assert node["versions"]["totalCount"] == len(versions)
        for version, answer in zip(versions, nodes(node["versions"]), strict=True):
            runs = [run for run in reversed(world.runs) if run.version == version]
            trials = [trial for run in runs for trial in reversed(run.trials)]
            assert answer == {
                "id": str(version.id),
                "version": version.version,
                "digest": version.digest,
                "manifest": MANIFEST | {"task": answer["manifest"]["task"]},
                "bundleSha256": None,
                "createdAt": text(version.created_at),
                "environment": {"id": str(environment.id)},
                "runs": {"totalCount": len(runs), "edges": [{"node": {"id": str(run.row.id)}} for run in runs]},
                "trials": {"totalCount": len(trials), "edges": [{"node": {"id": str(t.row.id)}} for t in trials]},
            }
    tasks = [version["manifest"]["task"] for version in nodes(nodes(answered)[1]["versions"])]
    assert tasks == ["Restock SKU-5", "Restock SKU-7", "Restock SKU-9"]


async def test_configurations_and_the_viewer(world: World) -> None:
    answered = await ask(world.tenant, CONFIGURATIONS, role="viewer")
    assert answered["evaluatorConfigurations"]["totalCount"] == 2
    assert nodes(answered["evaluatorConfigurations"]) == [
        {
            "id": str(row.id),
            "name": row.name,
            "attemptCount": row.attempt_count,
            "agentCommand": ["{python}", "agent.py", "{task}"],
            "secrets": [],
            "createdAt": text(row.created_at),
        }
        for row in reversed(world.configurations)
    ]
    assert answered["environment"] == {"id": str(world.environments[1].id)}
    organization = {"id": str(world.tenant.organization_id), "slug": "acme", "name": "Acme"}
    assert answered["viewer"] == {
        "id": str(SUBJECT),
        "email": "ada@example.org",
        "role": "VIEWER",
        "organization": organization,
    }
    assert answered["serviceVersion"] == metadata.version("agentforge")


async def test_whatever_has_an_id_is_found_by_it(world: World) -> None:
    ids = {kind: str(key) for kind, key in world.ids().items()}
    for kind, key in ids.items():
        answered = await ask(
            world.tenant,
            BY_ID,
            run=ids["EvaluationRun"],
            trial=ids["EvaluationTrial"],
            rollout=ids["Rollout"],
            node=key.upper(),
        )
        extra = {"slug": "acme"} if kind == "Organization" else {}
        assert answered["node"] == {"__typename": kind, "id": key} | extra
        assert answered["evaluationRun"] == {"id": ids["EvaluationRun"]}
        assert answered["evaluationTrial"] == {"id": ids["EvaluationTrial"]}
        assert answered["rollout"] == {"id": ids["Rollout"]}


class FieldsAsked(Visitor):
    def __init__(self, info: TypeInfo) -> None:
        super().__init__()
        self.info = info
        self.asked: set[str] = set()

    def enter_field(self, node: FieldNode, *_: Any) -> None:
        self.asked.add(f"{self.info.get_parent_type()}.{node.name.value}")


def test_no_field_is_left_unasked_here() -> None:
    info = TypeInfo(graph._schema)
    visitor = FieldsAsked(info)
    for document in ALL:
        visit(parse(document), TypeInfoVisitor(info, visitor))
    elsewhere = {"Mutation", "Subscription", "InvalidInput", "NotFound", "Conflict", "Forbidden"}
    fields = {
        f"{name}.{field}"
        for name, kind in graph._schema.type_map.items()
        if isinstance(kind, GraphQLObjectType) and not name.startswith("__") and name not in elsewhere
        for field in kind.fields
        # Every connection and edge has the same classes behind it.
        if not name.endswith(("Connection", "Edge")) or name in {"StepConnection", "EnvironmentEdge"}
    }
    assert fields - visitor.asked == set()
