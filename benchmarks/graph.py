"""Asks AgentForge, Strawberry's executor alone and PostGraphile the same, side by side, and prints ratios.

    npm install --prefix benchmarks/peers --no-package-lock
    uv run python benchmarks/graph.py [--quick] [--json]

Needs wrk and npm. All three read the same database as the same role under row-level security; AgentForge is the
whole service, with sign-in and limits. Load goes to loopback only. Figures are medians of three rounds in turn.
"""

import argparse
import json
import subprocess
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from statistics import median

from benchmarks.operations import OPERATIONS, Operation, in_our_words
from benchmarks.report import Report, parser, reported
from benchmarks.servers import Filled, Measured, Server, answer, drive, filled, free_port, service, started

PEERS = Path(__file__).parent / "peers"
ROUNDS = 3


def postgraphile(stack: ExitStack, database: Filled) -> Server | None:
    """None where npm's packages are not there."""
    node = PEERS / "node_modules" / ".bin" / "node"
    if not node.exists():
        return None
    port, parameters = free_port(), dict(part.split("=") for part in database.urls.app.partition("?")[2].split("&"))
    env = {"PGHOST": parameters["host"], "PGUSER": "agentforge_app", "PGDATABASE": "agentforge", "PORT": str(port)}
    env |= {"ORGANIZATION": str(database.organization), "GRAPHILE_ENV": "production"}
    command, url = [str(node), str(PEERS / "postgraphile.mjs")], f"http://127.0.0.1:{port}/graphql"
    return stack.enter_context(started("PostGraphile", command, url, {}, **env))


def bodies(servers: list[Server], operation: Operation, variables: dict[str, str]) -> dict[str, str]:
    """What each server is asked, after all have given the same answer."""
    asked, answers = {}, {}
    for server in servers:
        text = operation.theirs if server.name == "PostGraphile" else operation.ours
        used = {key: value for key, value in variables.items() if f"${key}:" in text}
        asked[server.name] = json.dumps(server.body(text, used))
        answers[server.name] = answer(server, text, used)
    if any(in_our_words(given) != answers["AgentForge"] for given in answers.values()):
        raise SystemExit(f"{operation.name}: the answers differ")
    print(f"\n{operation.name}: {len(json.dumps(answers['AgentForge'])):,} characters", flush=True)
    return asked


def rounds(server: Server, database: Filled, body: str, connections: int, seconds: int) -> Measured | str:
    """One round; what was wrong where a server cannot answer in time."""
    try:
        return drive(server, database.postmaster, body, connections, seconds)
    except (RuntimeError, subprocess.CalledProcessError) as error:
        return str(error).strip().splitlines()[-1]


def compare(
    servers: list[Server], database: Filled, operation: Operation, report: Report, arguments: argparse.Namespace
) -> None:
    variables = {"organization": str(database.organization), "version": database.version, "run": database.run}
    asked = bodies(servers, operation, variables)
    for connections in arguments.connections:
        taken: dict[str, list[Measured | str]] = {server.name: [] for server in servers}
        for _ in range(ROUNDS):
            for server in servers:
                body = asked[server.name]
                taken[server.name].append(rounds(server, database, body, connections, arguments.seconds))
        show(connections, taken)
        if connections in operation.bars and "PostGraphile" in taken:
            name = f"{operation.name.lower().replace(' ', '_').replace(',', '')}_c{connections}_vs_postgraphile"
            ours, theirs = rate(taken["AgentForge"]), rate(taken["PostGraphile"])
            report.at_least(name, ours / theirs, operation.bars[connections])


def rate(taken: Sequence[Measured | str]) -> float:
    rates = [one.rate for one in taken if isinstance(one, Measured)]
    return median(rates) if rates else 0.0


def show(connections: int, taken: dict[str, list[Measured | str]]) -> None:
    for name, measured in taken.items():
        good = [one for one in measured if isinstance(one, Measured)]
        if not good or not rate(good):
            print(f"  c={connections:<3} {name:14} no answer in time {measured}", flush=True)
            continue
        figures = {key: median(getattr(one, key) for one in good) for key in Measured.__dataclass_fields__}
        ratio = rate(taken["AgentForge"]) / figures["rate"]
        print(
            f"  c={connections:<3} {name:14} {figures['rate']:8.1f}/s  p50 {figures['p50']:7.1f} ms"
            f"  p99 {figures['p99']:7.1f} ms  CPU/1000: {figures['server_cpu']:5.2f} s"
            f" + database {figures['database_cpu']:5.2f} s  AgentForge is {ratio:.2f}x",
            flush=True,
        )


def main() -> None:
    made = parser(__doc__)
    made.add_argument("--trials", type=int)
    made.add_argument("--seconds", type=int)
    made.add_argument("--connections", type=int, nargs="+")
    made.add_argument("--only", help="operations whose name contains this")
    arguments = made.parse_args()
    arguments.trials = arguments.trials or (20_000 if arguments.quick else 100_000)
    arguments.seconds = arguments.seconds or (1 if arguments.quick else 5)
    arguments.connections = arguments.connections or ([1, 32] if arguments.quick else [1, 8, 32])
    with reported(arguments) as (report, directory), ExitStack() as stack:
        database = filled(stack, directory, arguments.trials)
        ours = stack.enter_context(service(database))
        # The same process: operations with extensions are left to Strawberry's executor.
        servers = [ours, replace(ours, name="Strawberry", extensions={"executor": "Strawberry"})]
        peer = postgraphile(stack, database)
        if peer is None:
            report.absent("postgraphile", "npm install --prefix benchmarks/peers --no-package-lock was not run")
        else:
            servers.append(peer)
        for operation in OPERATIONS:
            if not arguments.only or arguments.only in operation.name:
                compare(servers, database, operation, report, arguments)


if __name__ == "__main__":
    main()
