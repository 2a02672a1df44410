"""docs/exports.md against what is exported: formats, parameters and reasons."""

import json
import re
from typing import Any

from db.tenant import Tenant
from resolvers.rollouts import ExportKind
from streaming.filters import NAMES
from streaming.recorded import Reason
from tests.service import PROJECT
from tests.streaming.recorded import attempt, rollouts_of
from tests.streaming.web import Client, lines

URL = "/api/v1/rollouts"
PAGE = (PROJECT / "docs" / "exports.md").read_text("utf-8")


def examples() -> list[dict[str, Any]]:
    shown = re.findall(r'^\{"schemaVersion":1,.*\}$', PAGE, re.MULTILINE)
    return [json.loads(one.replace("[…]", "[]")) for one in shown]


def shape(value: Any) -> Any:
    """The keys of objects, in their order, in the first element of each array."""
    if isinstance(value, dict):
        return [(key, shape(inner)) for key, inner in value.items() if key not in ("arguments", "parameters")]
    return [shape(value[0])] if isinstance(value, list) and value else None


async def test_the_examples_are_like_the_lines(acme: Tenant, client: Client) -> None:
    calls = (("order", '{"sku":"SKU-9"}', "done"),)
    await rollouts_of(acme, attempt(1.0, *calls), attempt(0.15, ("order", '{"sku":"SKU-7"}', "done")))
    shown = {one["format"]: one for one in examples()}
    assert list(shown) == ["atif-shaped", "preference-pair", "atif", "openai-messages", "trl"]
    async with client(acme) as web:
        for name, example in shown.items():
            kind = next(kind for kind in ExportKind if name in kind.formats)
            asked = {"kind": kind, "format": name, **({"pair": example["pair"]} if "pair" in example else {})}
            line = lines((await web.get(URL, params=asked)).content)[-1]
            assert list(line) == list(example)
            if name == "openai-messages":
                assert shape(line["messages"]) == shape(example["messages"])
            if name == "atif":
                last = example["trajectory"]["steps"][-1]
                assert shape(line["trajectory"]["steps"][-1]) == shape(last)
                assert list(line["trajectory"]) == list(example["trajectory"])


def test_parameters_and_reasons_are_on_the_page() -> None:
    for name in (*NAMES, *Reason, *(one for kind in ExportKind for one in kind.formats)):
        assert f"`{name}`" in PAGE, name
