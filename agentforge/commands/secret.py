"""agentforge secret: values that agents get as variables, and the keys that encrypt them."""

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated

import typer

from agentforge.commands.output import (
    BAD_INPUT,
    DataDir,
    Json,
    OrganizationSlug,
    fail,
    load_settings,
    open_database,
    open_organization,
    print_json,
    print_text,
    run,
)

if TYPE_CHECKING:
    from agentforge.settings import Settings
    from db.secrets import Secret

_app = typer.Typer(no_args_is_help=True, help="Secrets, which agents get as variables and nobody is shown again.")

Name = Annotated[str, typer.Argument(metavar="NAME", help="Of the variable: A-Z, 0-9 and _.")]


def add_commands(app: typer.Typer) -> None:
    app.add_typer(_app, name="secret")


@_app.command("set")
def set_secret(name: Name, organization: OrganizationSlug, as_json: Json = False, data_dir: DataDir = None) -> None:
    """Store the value that standard input holds, without a newline at its end."""
    settings = load_settings(data_dir)
    secret = run(_set(settings, organization, name, _read_value()))
    if as_json:
        print_json(_shown(secret))
    else:
        print_text(f"The secret {secret.name} of {organization} is set.")


@_app.command("list")
def list_secrets(organization: OrganizationSlug, as_json: Json = False, data_dir: DataDir = None) -> None:
    """List the secrets' names and times. Values are never shown."""
    secrets = run(_secrets(load_settings(data_dir), organization))
    if as_json:
        print_json([_shown(secret) for secret in secrets])
    else:
        print_text(*(f"{_text(secret.updated_at)}  {secret.name}" for secret in secrets))


@_app.command()
def remove(name: Name, organization: OrganizationSlug, as_json: Json = False, data_dir: DataDir = None) -> None:
    """Remove a secret; runs of configurations that name it fail from then on."""
    run(_remove(load_settings(data_dir), organization, name))
    if as_json:
        print_json({"name": name})
    else:
        print_text(f"The secret {name} of {organization} is removed.")


@_app.command()
def rotate(
    organization: Annotated[
        str | None, typer.Option("--organization", metavar="SLUG", help="Which one; all when left out.")
    ] = None,
    as_json: Json = False,
    data_dir: DataDir = None,
) -> None:
    """Encrypt all values anew, with the first of AGENTFORGE_SECRET_KEYS."""
    count = run(_rotate(load_settings(data_dir), organization))
    if as_json:
        print_json({"rotated": count})
    else:
        print_text(f"{count} secrets are encrypted with the first key.")


@_app.command()
def key(as_json: Json = False) -> None:
    """Print a new key for AGENTFORGE_SECRET_KEYS."""
    from resolvers.secret_keys import SecretKeys

    new = SecretKeys.new()
    if as_json:
        print_json({"key": new})
    else:
        print_text(new)


def _read_value() -> str:
    from resolvers.secrets import LONGEST_VALUE

    data = typer.get_binary_stream("stdin").read(LONGEST_VALUE + 3)
    if len(data) == LONGEST_VALUE + 3:
        fail(f"A secret has at most {LONGEST_VALUE} bytes.", BAD_INPUT)
    try:
        text = data.decode()
    except UnicodeDecodeError:
        fail("The value on standard input is not UTF-8.", BAD_INPUT)
    return text.removesuffix("\n").removesuffix("\r")


async def _set(settings: "Settings", organization: str, name: str, value: str) -> "Secret":
    from resolvers.secrets import set_secret

    async with open_organization(settings, organization) as tenant:
        return await set_secret(tenant, settings.encryption_keys(), name, value)


async def _secrets(settings: "Settings", organization: str) -> "list[Secret]":
    from resolvers.secrets import in_order

    async with open_organization(settings, organization) as tenant:
        return await in_order(tenant)


async def _remove(settings: "Settings", organization: str, name: str) -> None:
    from resolvers.secrets import remove_secret

    async with open_organization(settings, organization) as tenant:
        await remove_secret(tenant, name)


async def _rotate(settings: "Settings", organization: str | None) -> int:
    from resolvers.accounts import tenant_of
    from resolvers.secrets import organizations_with_secrets
    from resolvers.secrets import rotate as rotate_secrets

    async with open_database(settings) as pool:
        tenants = (
            await organizations_with_secrets(pool) if organization is None else [await tenant_of(pool, organization)]
        )
        return sum([await rotate_secrets(tenant, settings.encryption_keys()) for tenant in tenants])


def _text(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


def _shown(secret: "Secret") -> dict[str, str | None]:
    return {
        "id": str(secret.id),
        "name": secret.name,
        "createdAt": _text(secret.created_at),
        "updatedAt": _text(secret.updated_at),
        "updatedBy": None if secret.updated_by is None else str(secret.updated_by),
    }
