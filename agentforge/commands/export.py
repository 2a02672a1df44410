"""agentforge export: rollouts of a service, over HTTP, as a file or to a pipe."""

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from agentforge.commands.output import BAD_INPUT, Json, fail, load_settings, print_json

if TYPE_CHECKING:
    from agentforge.download.destination import Destination
    from agentforge.download.transfer import Asked, Written

TOKEN = "AGENTFORGE_TOKEN"  # noqa: S105 - the name of a variable
_PIPE = "-"

Text = str | None


def add_commands(app: typer.Typer) -> None:
    app.command()(export)


def export(
    out: Annotated[
        str, typer.Option("--out", metavar="FILE", help="New file; .zst and .gz compress; - is standard output.")
    ],
    kind: Annotated[str, typer.Option(help="all, successful, failed, recovery or preference.")] = "all",
    url: Annotated[
        str | None,
        typer.Option(envvar="AGENTFORGE_URL", metavar="URL", help="Address of the service.", show_envvar=True),
    ] = None,
    format: Annotated[Text, typer.Option(help="Of the lines, as the service names it.")] = None,
    since: Annotated[Text, typer.Option(metavar="MOMENT", help="Rollouts made from then on.")] = None,
    until: Annotated[Text, typer.Option(metavar="MOMENT", help="Rollouts made before then.")] = None,
    environment_version: Annotated[Text, typer.Option(metavar="ID", help="Of this version only.")] = None,
    evaluation_run: Annotated[Text, typer.Option(metavar="ID", help="Of this run only.")] = None,
    limit: Annotated[int | None, typer.Option(min=1, help="At most so many lines.")] = None,
    pair: Annotated[Text, typer.Option(help="What a pair holds: trajectory or divergence.")] = None,
    pairs: Annotated[Text, typer.Option(help="Which pairs: extreme or all.")] = None,
    min_margin: Annotated[Text, typer.Option(metavar="NUMBER", help="Least difference of a pair's rewards.")] = None,
    max_per_version: Annotated[Text, typer.Option(metavar="NUMBER", help="At most so many of one version.")] = None,
    strict: Annotated[bool, typer.Option("--strict", help="Fail where the format cannot carry a rollout.")] = False,
    tries: Annotated[int, typer.Option(min=1, help="In a row that bring no line, before it gives up.")] = 10,
    as_json: Json = False,
) -> None:
    """Download rollouts of a service, with the token in AGENTFORGE_TOKEN.

    A transfer that breaks off is gone on with. FILE appears when it is whole and fits the service's manifest.
    """
    given = {
        "kind": kind,
        "format": format,
        "since": since,
        "until": until,
        "environmentVersionId": environment_version,
        "evaluationRunId": evaluation_run,
        "pair": pair,
        "pairs": pairs,
        "minMargin": min_margin,
        "maxPerVersion": max_per_version,
        "strict": "true" if strict else None,
    }
    if out == _PIPE and as_json:
        fail("--json has no place beside lines on standard output.", BAD_INPUT)
    asked = _asked({name: value for name, value in given.items() if value is not None}, limit)
    _summarize(_download(_address(url), _token(), asked, out, tries), out, as_json)


def _asked(parameters: dict[str, str], limit: int | None) -> "Asked":
    from agentforge.download.transfer import Asked
    from streaming.filters import MOST_OF_ALL

    if limit is None and parameters["kind"] == "all":
        limit = MOST_OF_ALL  # or each part would have so many
    # Pairs have no rollout to go on after, and a limit counts rollouts that a format leaves out, of which nobody knows
    # how many came before a break.
    leaves_out = parameters.get("format", "atif-shaped") != "atif-shaped"
    can_resume = parameters["kind"] != "preference" and not (limit is not None and leaves_out)
    return Asked(parameters, limit, can_resume)


def _address(url: str | None) -> str:
    from urllib.parse import urlsplit

    from agentforge.address import known_address

    address = known_address(load_settings(None)) if url is None else url
    try:
        parts = urlsplit(address)
        is_good = parts.scheme in ("http", "https") and parts.hostname and not (parts.port == 0 or "@" in parts.netloc)
    except ValueError:
        is_good = False
    if not is_good or parts.query or parts.fragment:
        fail("The address of the service must be one such as https://forge.example.com.", BAD_INPUT)
    return address.rstrip("/")


def _token() -> str:
    import os

    token = os.environ.get(TOKEN, "").strip()
    # Also because an odd character would have the HTTP client repeat the whole header in its error.
    if not re.fullmatch("[!-~]+", token):
        fail(f"{TOKEN} must hold a token, which `agentforge token create` makes.", BAD_INPUT)
    return token


def _download(address: str, token: str, asked: "Asked", out: str, tries: int) -> "Written":
    import httpx2

    from agentforge.download.destination import Pipe, new_file
    from agentforge.download.errors import DownloadError, RefusedRequestError, printable
    from agentforge.download.progress import Shown
    from agentforge.download.transfer import Download

    headers = {"Authorization": f"Bearer {token}", "Accept-Encoding": "zstd, gzip;q=0.5"}
    timeout = httpx2.Timeout(60, connect=10)

    def run(destination: "Destination") -> "Written":
        with (
            Shown(asked.parameters["kind"]) as shown,
            httpx2.Client(base_url=address, headers=headers, timeout=timeout) as client,
        ):
            return Download(client, asked, destination, shown, tries).run()

    try:
        if out == _PIPE:
            return run(Pipe())
        with new_file(Path(out)) as file:
            return run(file)
    except RefusedRequestError as error:
        fail(printable(str(error)), BAD_INPUT)
    except DownloadError as error:
        fail(printable(str(error)))
    except OSError as error:
        fail(f"{out} cannot be written: {error.strerror or error}.")


def _summarize(written: "Written", out: str, as_json: bool) -> None:
    from agentforge.download.errors import printable

    manifest = written.manifest
    assert manifest is not None
    if as_json:
        print_json(
            {
                "file": out,
                "rollouts": written.lines,
                "bytes": written.size,
                "sha256": written.digest.hexdigest(),
                "parts": written.parts,
                "verified": written.verified,
                "skipped": manifest.skipped,
                "snapshotAt": manifest.snapshot_at,
            }
        )
        return
    typer.echo(
        f"{written.lines:,} lines, {written.size:,} bytes, SHA-256 {written.digest.hexdigest()}, "
        f"as of {printable(manifest.snapshot_at)}",
        err=True,
    )
    if written.verified < written.lines:
        typer.echo(
            f"The last {written.verified:,} of them fit their manifest; those before it came in transfers that broke "
            "off, and were checked to be whole and in order.",
            err=True,
        )
    for reason, count in manifest.skipped.items():
        typer.echo(f"Left out by the service: {count:,} of {printable(reason)}", err=True)
