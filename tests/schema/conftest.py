"""What tests of the graph share."""

import pytest

from db.tenant import Tenant
from tests.schema.world import World, build_world


@pytest.fixture
async def world(acme: Tenant) -> World:
    """Everything that one organization can have."""
    return await build_world(acme)
