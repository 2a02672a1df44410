"""What an environment.json may say."""

import pytest
from pydantic import ValidationError

from resolvers.manifest import parse_manifest

COMMAND = {"command": ["{python}", "-m", "shop"]}
SMALLEST = {"task": "Order", "world": COMMAND, "evaluator": COMMAND}


def test_the_smallest_manifest_has_defaults() -> None:
    manifest = parse_manifest(SMALLEST)
    assert manifest.stages == ()
    assert manifest.world.env == {}
    limits = {"seconds": 300, "steps": 200, "log_bytes": 65_536, "observation_bytes": 16_384}
    limits["artifact_bytes"] = 16_777_216
    sizes = {"memory_bytes": 4 * 2**30, "processes": 256, "disk_bytes": 2**30}
    assert manifest.artifacts == ()
    assert manifest.limits.model_dump() == limits | sizes


def test_a_manifest_gives_back_what_it_was_given() -> None:
    value = {
        "task": "Order",
        "world": {"command": ["a"], "env": {"A": ""}},
        "evaluator": {"command": ["b", ""], "env": {}},
        "stages": ["stage_stock", "stage_2"],
        "artifacts": ["report.txt", "out/**/*.log", "**", "...", "a b/[!x]?*"],
        "limits": {
            "seconds": 0.5,
            "steps": 1,
            "log_bytes": 256,
            "observation_bytes": 256,
            "artifact_bytes": 0,
            "memory_bytes": 2**26,
            "processes": 1,
            "disk_bytes": 2**20,
        },
    }
    assert parse_manifest(value).model_dump(mode="json") == value


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"task": ""}, "task"),
        ({"task": "a\0"}, "task"),
        ({"task": "\ud800"}, "task"),
        ({"task": "x" * 32_001}, "task"),
        ({"other": 1}, "other"),
        ({"world": {"command": []}}, "world"),
        ({"world": {"command": "shop"}}, "world"),
        ({"world": {"command": ["a\0"]}}, "world"),
        ({"evaluator": {"command": ["a"], "env": {"A": "\0"}}}, "evaluator"),
        ({"evaluator": {"command": ["a"], "env": {"A=B": ""}}}, "evaluator"),
        ({"evaluator": {"command": ["a"], "env": {"": ""}}}, "evaluator"),
        ({"stages": ["stock"]}, "stages"),
        ({"stages": ["stage_Stock"]}, "stages"),
        ({"stages": ["stage_a\n"]}, "stages"),
        ({"stages": ["stage_a", "stage_a"]}, "stages"),
        *(
            ({"artifacts": [pattern]}, "artifacts")
            for pattern in ("", "/etc/passwd", "../a", "a/..", "./a", "a//b", "a/", "a**", "a/**b/c", "\0", "\udcff")
        ),
        ({"artifacts": ["a" * 501]}, "artifacts"),
        ({"artifacts": ["a"] * 33}, "artifacts"),
        ({"artifacts": "a"}, "artifacts"),
        ({"limits": {"artifact_bytes": -1}}, "limits"),
        ({"limits": {"artifact_bytes": 2**26 + 1}}, "limits"),
        ({"limits": {"seconds": 0}}, "limits"),
        ({"limits": {"seconds": 86_401}}, "limits"),
        ({"limits": {"seconds": float("nan")}}, "limits"),
        ({"limits": {"steps": 0}}, "limits"),
        ({"limits": {"steps": 100_001}}, "limits"),
        ({"limits": {"log_bytes": 2**24 + 1}}, "limits"),
        ({"limits": {"observation_bytes": 10}}, "limits"),
        ({"limits": {"memory": 1}}, "limits"),
        ({"limits": {"memory_bytes": 2**26 - 1}}, "limits"),
        ({"limits": {"processes": 0}}, "limits"),
        ({"limits": {"disk_bytes": 2**20 - 1}}, "limits"),
    ],
)
def test_a_wrong_field_is_named(change: dict[str, object], field: str) -> None:
    with pytest.raises(ValidationError) as caught:
        parse_manifest(SMALLEST | change)
    assert {error["loc"][0] for error in caught.value.errors()} == {field}
