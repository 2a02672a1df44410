"""What commands share: their options, how they open an organization, and how they print and fail."""

import asyncio
import json
from collections.abc import AsyncGenerator, Coroutine
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn, TypeVar

import typer

if TYPE_CHECKING:
    from agentforge.settings import Settings
    from db.tenant import Pool, Tenant

# Imports of the service stand inside functions, so that `--help` does not wait for them.

Result = TypeVar("Result")

DataDir = Annotated[
    Path | None, typer.Option("--data-dir", help="Folder of the embedded database, instead of AGENTFORGE_DATA_DIR.")
]
Json = Annotated[bool, typer.Option("--json", help="Print one line of JSON.")]
OrganizationSlug = Annotated[str, typer.Option("--organization", metavar="SLUG", help="Which organization.")]

Organization = Annotated[
    str | None,
    typer.Option("--organization", metavar="SLUG", help="Which organization, instead of AGENTFORGE_ORGANIZATION."),
]

BAD_INPUT = 2


def load_settings(data_dir: Path | None, organization: str | None = None) -> "Settings":
    """Settings of the environment, with what is given on the command line over its variables."""
    from pydantic import ValidationError

    from agentforge.settings import Settings

    options: dict[str, Any] = {"data_dir": data_dir, "organization": organization}
    given = {name: value for name, value in options.items() if value is not None}
    try:
        return Settings(**given)
    except ValidationError as error:
        details = error.errors(include_url=False, include_context=False, include_input=False)
        fail(
            "; ".join(f"AGENTFORGE_{detail['loc'][0]}".upper() + f": {detail['msg']}" for detail in details), BAD_INPUT
        )


@asynccontextmanager
async def open_database(settings: "Settings") -> "AsyncGenerator[Pool]":
    """Connections to the database of the settings, its schema brought up to date."""
    from agentforge.database import database, ensure_migrated
    from db.pool import open_pool

    with database(settings) as urls:
        await ensure_migrated(urls)
        async with open_pool(urls.app, application_name="agentforge command", max_size=2) as pool:
            yield pool


@asynccontextmanager
async def open_organization(settings: "Settings", slug: str) -> "AsyncGenerator[Tenant]":
    """The organization named `slug`. Raises NotFoundError."""
    from db.errors import NotFoundError
    from resolvers.accounts import tenant_of

    async with open_database(settings) as pool:
        try:
            tenant = await tenant_of(pool, slug)
        except NotFoundError as error:
            if settings.database_url is not None:
                raise
            # In another folder than the service's, a command has just made a database of its own.
            raise NotFoundError(f"{error} The data folder is {settings.data_dir.resolve()}.") from None
        yield tenant


def _serving_loop() -> asyncio.AbstractEventLoop:
    import uvloop

    return uvloop.new_event_loop()


def run(work: Coroutine[Any, Any, Result], *, serving: bool = False) -> Result:
    """The result of a command's work; a failure that can be expected ends the command with its message.

    With `serving` on uvloop, on which a server answers half as many requests again.
    Exits with 2 for bad input, with 1 for the rest; bugs keep their traceback.
    """
    import asyncpg

    from agentforge.address import PortError
    from agentforge.database import DatabaseSettingsError
    from agentforge.worker.sandbox import SandboxError
    from db.embedded import DataFolderError
    from db.errors import ExpectedError, InvalidInputError
    from db.migrate import MigrationError
    from db.pool import UnsafeRoleError

    try:
        with asyncio.Runner(loop_factory=_serving_loop if serving else None) as runner:
            return runner.run(work)
    except (InvalidInputError, DatabaseSettingsError) as error:
        fail(str(error), BAD_INPUT)
    except (DataFolderError, ExpectedError, MigrationError, PortError, SandboxError, UnsafeRoleError) as error:
        fail(str(error))
    except asyncpg.ClientConfigurationError as error:
        fail(f"The address of the database cannot be used: {error}", BAD_INPUT)
    except (
        OSError,
        asyncpg.InvalidAuthorizationSpecificationError,
        asyncpg.InvalidCatalogNameError,
        asyncpg.CannotConnectNowError,
        asyncpg.TooManyConnectionsError,
    ) as error:
        fail(f"The database cannot be reached: {error}")


def fail(message: str, code: int = 1) -> NoReturn:
    typer.echo(f"Error: {message}", err=True)
    raise typer.Exit(code)


def print_json(value: object) -> None:
    typer.echo(json.dumps(value))


def print_text(*lines: str) -> None:
    """Lines for people, never broken, so that a secret can be copied whole."""
    from rich.console import Console

    for line in lines:
        Console().print(line, soft_wrap=True, markup=False, highlight=False)


def read_password() -> str:
    """The first line of standard input."""
    line = typer.get_binary_stream("stdin").readline(8192)
    try:
        return line.decode().rstrip("\r\n")
    except UnicodeDecodeError:
        fail("The password on standard input is not UTF-8.", BAD_INPUT)
