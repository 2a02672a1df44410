"""What the contract's tests share: an environment version of their own, and agents to run on it."""

from dataclasses import dataclass
from uuid import uuid4

import pytest

from agentforge.demo import AGENT
from tests.contract.documents import CREATE_CONFIGURATION, CREATE_ENVIRONMENT, PUBLISH, made
from tests.service import Client, Service


@dataclass(frozen=True)
class Practice:
    """An environment version and a configuration of two attempts, made through the graph by their owner."""

    client: Client
    version: str
    configuration: str

    def configure(self, attempts: int, *command: str) -> str:
        """The id of a new configuration."""
        name = f"agent {uuid4()}"
        return made(self.client, CREATE_CONFIGURATION, name=name, attempts=attempts, command=list(command))


def practice(client: Client, slug: str) -> Practice:
    """A new environment with the manifest and bundle of the client's environment `slug`."""
    given = client.graph(
        "query($slug: String!) { environment(slug: $slug) { latestVersion { manifest bundleSha256 } } }", slug=slug
    )["environment"]["latestVersion"]
    environment = made(client, CREATE_ENVIRONMENT, slug=f"practice-{uuid4().hex}")
    version = made(client, PUBLISH, environment=environment, manifest=given["manifest"], bundle=given["bundleSha256"])
    configuration = made(client, CREATE_CONFIGURATION, name=f"scripted {uuid4()}", attempts=2, command=list(AGENT))
    return Practice(client, version, configuration)


@pytest.fixture
def own(service: Service) -> Practice:
    """Of the demo organization."""
    return practice(service.client, "admin-console")


@pytest.fixture
def foreign(other: Client) -> Practice:
    """Of the other organization."""
    return practice(other, "till")
