"""agentforge member, agentforge sign-in-link: the people of an organization."""

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from agentforge.commands.output import (
    DataDir,
    Json,
    OrganizationSlug,
    load_settings,
    open_organization,
    print_json,
    print_text,
    read_password,
    run,
)

if TYPE_CHECKING:
    from agentforge.settings import Settings
    from db.members import Member

_app = typer.Typer(no_args_is_help=True, help="The people of an organization.")


class MemberRole(StrEnum):
    OWNER = "owner"
    MEMBER = "member"
    VIEWER = "viewer"


def add_commands(app: typer.Typer) -> None:
    app.add_typer(_app, name="member")
    app.command()(sign_in_link)


@_app.command()
def add(
    email: str,
    organization: OrganizationSlug,
    role: Annotated[MemberRole, typer.Option(case_sensitive=False)],
    password_stdin: Annotated[
        bool, typer.Option("--password-stdin", help="Set the password that the first line of stdin holds.")
    ] = False,
    as_json: Json = False,
    data_dir: DataDir = None,
) -> None:
    """Add a member, or give a member another role or password."""
    settings = load_settings(data_dir)
    password = read_password() if password_stdin else None
    member = run(_add(settings, organization, email, role, password))
    if as_json:
        print_json(
            {
                "organization": organization,
                "userId": str(member.id),
                "email": member.email,
                "role": member.role,
            }
        )
    else:
        print_text(f"{member.email} is {member.role} of {organization}.")


async def _add(settings: "Settings", organization: str, email: str, role: str, password: str | None) -> "Member":
    from resolvers.members import add_member

    async with open_organization(settings, organization) as tenant:
        return await add_member(tenant, email, role, password)


def sign_in_link(
    email: str,
    organization: OrganizationSlug,
    url: Annotated[str | None, typer.Option(help="Address of the service; found out when left out.")] = None,
    as_json: Json = False,
    data_dir: DataDir = None,
) -> None:
    """Print a link that signs a member in, once, within 10 minutes."""
    from agentforge.address import known_address

    settings = load_settings(data_dir)
    secret = run(_link(settings, organization, email))
    link = f"{(url or known_address(settings)).rstrip('/')}/sign-in?link={secret}"
    if as_json:
        print_json({"url": link})
    else:
        print_text(link)


async def _link(settings: "Settings", organization: str, email: str) -> str:
    from resolvers.accounts import create_sign_in_link
    from resolvers.members import member_by_email

    async with open_organization(settings, organization) as tenant:
        member = await member_by_email(tenant, email)
        return await create_sign_in_link(tenant, member.id)
