"""agentforge organization: the tenants of this installation."""

from datetime import timedelta
from typing import TYPE_CHECKING, Annotated

import typer

from agentforge.commands.output import DataDir, Json, load_settings, open_database, print_json, print_text, run

if TYPE_CHECKING:
    from agentforge.settings import Settings
    from db.accounts import Organization

_app = typer.Typer(no_args_is_help=True, help="The organizations of this installation.")


def add_commands(app: typer.Typer) -> None:
    app.add_typer(_app, name="organization")


@_app.command()
def create(
    slug: Annotated[str, typer.Argument(help="Lower-case letters, digits and inner hyphens.")],
    owner: Annotated[str, typer.Option(metavar="EMAIL", help="Who owns it; made a user when new.")],
    name: Annotated[str | None, typer.Option(help="Its name for people; the slug when left out.")] = None,
    token_days: Annotated[int, typer.Option(min=1, max=3650, help="Days that the owner's token lasts.")] = 90,
    as_json: Json = False,
    data_dir: DataDir = None,
) -> None:
    """Create an organization, its owner and a first token, which is shown this once."""
    settings = load_settings(data_dir)
    organization, secret = run(_create(settings, slug, slug if name is None else name, owner, token_days))
    if as_json:
        print_json(
            {
                "organization": organization.slug,
                "organizationId": str(organization.id),
                "owner": owner.lower(),
                "token": secret,
            }
        )
    else:
        print_text(
            f"Organization {organization.slug} ({organization.id}), owned by {owner.lower()}.",
            f"Token, shown this once, for {token_days} days: {secret}",
            f"Sign-in link: agentforge sign-in-link {owner.lower()} --organization {organization.slug}",
        )


async def _create(
    settings: "Settings", slug: str, name: str, owner: str, token_days: int
) -> "tuple[Organization, str]":
    from db.tenant import Tenant
    from resolvers import accounts

    async with open_database(settings) as pool:
        organization, _ = await accounts.create_organization(pool, slug, name, owner)
        tenant = Tenant(pool, organization.id)
        _, secret = await accounts.create_token(tenant, "first", "owner", timedelta(days=token_days))
    return organization, secret
