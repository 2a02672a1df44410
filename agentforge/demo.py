"""The demo: an organization of its own, the example environment, and a first run of eight attempts."""

from dataclasses import dataclass
from datetime import timedelta
from importlib.resources import files
from pathlib import Path
from uuid import UUID

from agentforge.publishing import ensure_configuration, publish_directory
from db import accounts as account_rows
from db import runs as run_rows
from db.errors import NotFoundError
from db.runs import EvaluationRun
from db.tenant import Pool, Tenant
from db.versions import EnvironmentVersion
from resolvers import accounts, members, runs

ORGANIZATION = "demo"
OWNER = "owner@demo.example"
ENVIRONMENT = "admin-console"
ATTEMPTS = 8
AGENT = (
    "{python}", "{bundle}/scripted_agent.py", "--task", "{task}", "--mcp-config", "{mcp_config}",
    "--seed", "{seed}", "--attempt", "{attempt}",
)  # fmt: skip
TOKEN_LIFETIME = timedelta(days=30)

EXAMPLE = Path(str(files("examples"))) / "admin_console"


@dataclass(frozen=True, slots=True)
class Demo:
    tenant: Tenant
    owner_id: UUID
    version: EnvironmentVersion
    run: EvaluationRun


async def demo_tenant(pool: Pool) -> tuple[Tenant, UUID]:
    """The demo organization and its owner, made when missing."""
    try:
        tenant = await accounts.tenant_of(pool, ORGANIZATION)
        member = await members.add_member(tenant, OWNER, "owner")
    except NotFoundError:
        organization, member = await accounts.create_organization(pool, ORGANIZATION, "Demo", OWNER)
        tenant = Tenant(pool, organization.id)
    return tenant, member.id


async def ensure_demo(pool: Pool) -> Demo:
    """The demo as it stands: its newest run on the newest version, started when there is none yet."""
    tenant, owner_id = await demo_tenant(pool)
    version = await publish_directory(tenant, EXAMPLE, ENVIRONMENT, "Admin console")
    run = await tenant.fetch_one(run_rows.NEWEST_OF_VERSION, version.id)
    if run is None:
        configuration = await ensure_configuration(tenant, AGENT, ATTEMPTS)
        run = await runs.start(tenant, str(version.id), str(configuration.id), None)
    return Demo(tenant, owner_id, version, run)


async def owner_token(tenant: Tenant) -> str:
    """A new token with the owner's rights. Its secret is told this once."""
    _, secret = await accounts.create_token(tenant, "agentforge up", "owner", TOKEN_LIFETIME)
    return secret


async def organization_slug(tenant: Tenant) -> str:
    organization = await tenant.fetch_one(account_rows.ORGANIZATIONS_BY_IDS, [tenant.organization_id])
    assert organization is not None
    return organization.slug
