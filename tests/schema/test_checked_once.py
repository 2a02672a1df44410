"""A document is parsed and validated when it first comes, whoever asks, and its variables each time."""

from typing import Any

import pytest
import strawberry.schema.schema as strawberry_schema

from db.tenant import Tenant
from schema.compiled import documents
from schema.compiled.documents import Documents
from schema.graph import graph
from tests.schema.asking import UNKNOWN, ask, refusals

WIDE = """query($first: Int) { environments(first: $first) { edges { node {
  versions(first: 500) { totalCount edges { node { id } } }
} } } }"""
CANCEL = "mutation($id: ID!) { cancelEvaluationRun(input: {evaluationRunId: $id}) { __typename } }"


@pytest.fixture
def validated(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The documents that are validated from now on, of which none is known."""
    texts: list[str] = []
    validate = strawberry_schema.validate_document

    def noted(schema: Any, document: Any, rules: Any) -> Any:
        texts.append(document.loc.source.body)
        return validate(schema, document, rules)

    monkeypatch.setattr(strawberry_schema, "validate_document", noted)
    monkeypatch.setattr(documents, "validate_document", noted)
    monkeypatch.setitem(graph.__dict__, "documents", Documents(graph))
    return texts


@pytest.mark.parametrize("text", ["{ viewer { role } }", CANCEL])
async def test_a_valid_document_is_validated_once(acme: Tenant, rival: Tenant, validated: list[str], text: str) -> None:
    answers = [await ask(tenant, text, id=UNKNOWN) for tenant in (acme, rival, acme)]
    assert answers[0] == answers[1] == answers[2]
    assert validated == [text]


async def test_others_are_refused_in_the_same_words_each_time(acme: Tenant, validated: list[str]) -> None:
    for text in ("{ viewer { rank } }", "{ viewer {", "{ viewer { role }"):
        first, second = await refusals(acme, text), await refusals(acme, text)
        assert first == second
        assert first[0]["message"]


async def test_variables_are_looked_at_each_time(acme: Tenant, validated: list[str]) -> None:
    assert await ask(acme, WIDE, first=1) == {"environments": {"edges": []}}
    for _ in range(2):
        assert [error["extensions"]["code"] for error in await refusals(acme, WIDE, first=500)] == ["LIMIT_EXCEEDED"]
    assert await ask(acme, WIDE, first=1) == {"environments": {"edges": []}}
    assert validated == [WIDE]
