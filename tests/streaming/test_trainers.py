"""Exports as trainers read them: by datasets, by a chat template as transformers renders it, by TRL's own functions.

`just trainers` installs these; a test of what is missing is skipped.
"""

import importlib.util
import json
from pathlib import Path
from typing import Any

import pytest

from db.tenant import Tenant
from tests.streaming.recorded import FUNCTIONS, attempt, rollouts_of
from tests.streaming.web import Client

URL = "/api/v1/rollouts"
# Libraries of others, which warn of what is theirs.
pytestmark = pytest.mark.filterwarnings("ignore")

TEMPLATE = (
    "{% for tool in tools or [] %}<tool>{{ tool | tojson }}</tool>\n{% endfor %}"
    "{% for message in messages %}<{{ message.role }}>"
    "{% for call in message.tool_calls or [] %}"
    "{{ call.function.name }}{{ call.function.arguments | tojson }}{% endfor %}"
    "{{ message.content }}</{{ message.role }}>\n{% endfor %}{% if add_generation_prompt %}<assistant>{% endif %}"
)
CALLS = (("order", '{"sku":"é","count":3}', "done"), ("look", '{"at":[1,{"deep":null}]}', "a shelf\u2028"))


def library(name: str) -> Any:
    return pytest.importorskip(name, reason=f"{name} is not installed")


async def saved(client: Client, tenant: Tenant, folder: Path, **parameters: str) -> Path:
    async with client(tenant) as web:
        response = await web.get(URL, params=parameters)
    assert response.status_code == 200
    (folder / "export.jsonl").write_bytes(response.content)
    return folder / "export.jsonl"


def loaded(file: Path) -> Any:
    datasets = library("datasets")
    datasets.disable_progress_bars()
    return datasets.load_dataset("json", data_files=str(file), split="train", cache_dir=str(file.parent / "cache"))


def tokenizer() -> Any:
    """One that knows no model: what counts here is its template."""
    tokenizers, transformers = library("tokenizers"), library("transformers")
    model = tokenizers.Tokenizer(tokenizers.models.WordLevel({"?": 0}, unk_token="?"))
    made = transformers.PreTrainedTokenizerFast(tokenizer_object=model)
    made.chat_template = TEMPLATE
    return made


async def made(tenant: Tenant) -> None:
    await rollouts_of(tenant, attempt(1.0, *CALLS), attempt(0.0, CALLS[0], CALLS[0]), attempt(None, CALLS[1]))


async def test_messages_are_loaded_as_they_are(acme: Tenant, client: Client, tmp_path: Path) -> None:
    await made(acme)
    file = await saved(client, acme, tmp_path, format="openai-messages")
    rows = [json.loads(line) for line in file.read_bytes().splitlines()]
    assert len(rows) == 3
    found = list(loaded(file))
    assert [one["messages"] for one in found] == [row["messages"] for row in rows]
    assert [one["reward"] for one in found] == [None, 0, 1]
    assert [one["tools"] for one in found] == [FUNCTIONS] * 3


async def test_a_chat_template_renders_them(acme: Tenant, client: Client, tmp_path: Path) -> None:
    library("transformers")
    render = library("transformers.utils.chat_template_utils").render_jinja_template
    await made(acme)
    row = loaded(await saved(client, acme, tmp_path, format="openai-messages", kind="successful"))[0]
    told, _ = render([row["messages"]], tools=row["tools"], chat_template=TEMPLATE)
    expected = (
        '<assistant>order{"sku": "é", "count": 3}</assistant>\n<tool>done</tool>\n'
        '<assistant>look{"at": [1, {"deep": null}]}</assistant>\n<tool>a shelf\u2028</tool>\n'
    )
    assert told[0].endswith(expected)
    assert told[0].count('"function"') == 2 * len(FUNCTIONS)
    assert tokenizer().apply_chat_template(row["messages"], tools=row["tools"], tokenize=False) == told[0]


@pytest.mark.parametrize("pair", ["trajectory", "divergence"])
async def test_trl_takes_the_pairs(acme: Tenant, client: Client, tmp_path: Path, pair: str) -> None:
    if importlib.util.find_spec("trl") is None:
        pytest.skip("trl is not installed")
    trl = library("trl.data_utils")
    await made(acme)
    for _ in range(2):
        await made(acme)
    file = await saved(client, acme, tmp_path, kind="preference", format="trl", pair=pair, pairs="all")
    rows = [json.loads(line) for line in file.read_bytes().splitlines()]
    found = loaded(file)
    assert len(found) == len(rows) == 3
    for one, row in zip(found, rows, strict=True):
        assert trl.is_conversational(one)
        assert trl.maybe_extract_prompt(one) == one
        assert {name: one[name] for name in ("prompt", "chosen", "rejected")} == {
            name: row[name] for name in ("prompt", "chosen", "rejected")
        }
        rendered = trl.maybe_apply_chat_template(one, tokenizer())
        assert rendered["prompt"].endswith("<assistant>")
        assert 'look{"at": [1, {"deep": null}]}' in rendered["chosen"]
        assert 'order{"sku": "é", "count": 3}' in rendered["rejected"]
    unpaired = trl.unpair_preference_dataset(found.select_columns(["prompt", "chosen", "rejected"]))
    assert unpaired["label"] == [True] * 3 + [False] * 3
