"""agentforge token: what programs act for an organization with."""

from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated
from uuid import UUID

import typer

from agentforge.commands.output import (
    DataDir,
    Json,
    OrganizationSlug,
    load_settings,
    open_organization,
    print_json,
    print_text,
    run,
)

if TYPE_CHECKING:
    from agentforge.settings import Settings
    from db.accounts import Token

_app = typer.Typer(no_args_is_help=True, help="Tokens, which programs act for an organization with.")


class TokenRole(StrEnum):
    OWNER = "owner"
    MEMBER = "member"
    VIEWER = "viewer"
    WORKER = "worker"


def add_commands(app: typer.Typer) -> None:
    app.add_typer(_app, name="token")


@_app.command()
def create(
    organization: OrganizationSlug,
    role: Annotated[TokenRole, typer.Option(case_sensitive=False)],
    name: Annotated[str | None, typer.Option(help="What it is for; its role when left out.")] = None,
    days: Annotated[int, typer.Option(min=1, max=3650, help="Days until it ends.")] = 90,
    as_json: Json = False,
    data_dir: DataDir = None,
) -> None:
    """Create a token. Its secret is shown this once."""
    settings = load_settings(data_dir)
    token, secret = run(_create(settings, organization, role if name is None else name, role, days))
    if as_json:
        print_json({"id": str(token.id), "token": secret, "expiresAt": _text(token.expires_at)})
    else:
        print_text(
            f"Token {token.id}, {token.role} of {organization} until {_text(token.expires_at)}.",
            f"Its secret, shown this once: {secret}",
        )


@_app.command()
def revoke(
    token_id: Annotated[UUID, typer.Argument(metavar="ID")],
    organization: OrganizationSlug,
    as_json: Json = False,
    data_dir: DataDir = None,
) -> None:
    """End a token at once."""
    token = run(_revoke(load_settings(data_dir), organization, token_id))
    assert token.revoked_at is not None
    if as_json:
        print_json({"id": str(token.id), "revokedAt": _text(token.revoked_at)})
    else:
        print_text(f"Token {token.id} ({token.name}) is revoked.")


@_app.command("list")
def list_tokens(organization: OrganizationSlug, as_json: Json = False, data_dir: DataDir = None) -> None:
    """List the tokens, the ended ones too. Secrets are not kept, so none is shown."""
    tokens = run(_tokens(load_settings(data_dir), organization))
    if as_json:
        print_json([_shown(token) for token in tokens])
    else:
        print_text(*(f"{token.id}  {token.role:6}  {_state(token)}  {token.name}" for token in tokens))


async def _create(settings: "Settings", organization: str, name: str, role: str, days: int) -> "tuple[Token, str]":
    from resolvers.accounts import create_token

    async with open_organization(settings, organization) as tenant:
        return await create_token(tenant, name, role, timedelta(days=days))


async def _revoke(settings: "Settings", organization: str, token_id: UUID) -> "Token":
    from resolvers.accounts import revoke_token

    async with open_organization(settings, organization) as tenant:
        return await revoke_token(tenant, token_id)


async def _tokens(settings: "Settings", organization: str) -> "list[Token]":
    from resolvers.accounts import tokens

    async with open_organization(settings, organization) as tenant:
        return await tokens(tenant)


def _text(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


def _state(token: "Token") -> str:
    if token.revoked_at is not None:
        return f"revoked {_text(token.revoked_at)}"
    ended = token.expires_at <= datetime.now(UTC)
    return f"{'expired' if ended else 'until  '} {_text(token.expires_at)}"


def _shown(token: "Token") -> dict[str, str | None]:
    return {
        "id": str(token.id),
        "name": token.name,
        "role": token.role,
        "createdAt": _text(token.created_at),
        "expiresAt": _text(token.expires_at),
        "revokedAt": None if token.revoked_at is None else _text(token.revoked_at),
    }
