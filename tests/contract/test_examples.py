"""GraphiQL's examples: each answers its question on the example environment's own data."""

import httpx
import pytest
from graphql import OperationDefinitionNode, OperationType, parse

from tests.service import PROJECT, Service

EXAMPLES = (PROJECT / "web" / "examples.graphql").read_text("utf-8")
OPERATIONS = [one for one in parse(EXAMPLES).definitions if isinstance(one, OperationDefinitionNode)]
QUERIES = [str(one.name.value) for one in OPERATIONS if one.operation is OperationType.QUERY and one.name]


@pytest.mark.parametrize("name", QUERIES)
def test_each_query_is_answered_with_something(service: Service, name: str) -> None:
    asked = {"query": EXAMPLES, "operationName": name}
    answer = service.client.request("POST", "/graphql", json=asked).json()
    assert "errors" not in answer
    for value in answer["data"].values():
        assert value.get("edges", value) if isinstance(value, dict) else value


def test_each_subscription_is_taken(service: Service) -> None:
    headers = {"Authorization": f"Bearer {service.token}", "Accept": "text/event-stream"}
    for operation in OPERATIONS:
        if operation.operation is OperationType.SUBSCRIPTION and operation.name:
            asked = {"query": EXAMPLES, "operationName": operation.name.value}
            with httpx.stream("POST", f"{service.url}/graphql", json=asked, headers=headers) as answer:
                assert answer.status_code == 200
                assert answer.headers["content-type"].startswith("text/event-stream")
    assert len(QUERIES) + 1 == len(OPERATIONS)
