"""Asks for pages and reports with 100,000 trials and with 1,000,000, in turn, and prints how much longer they take.

    uv run python benchmarks/scale.py [--quick] [--json]

Needs wrk. One connection, through the whole service, medians of three rounds; filling the million takes minutes.
`--quick` compares 10,000 with 100,000.
"""

import json
from contextlib import ExitStack
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.report import parser, reported
from benchmarks.servers import Filled, Server, answer, drive, filled, service

ROUNDS = 3
MOST_GROWTH = 2.0

_TRIAL = "id attempt status reward failureCategory stages { name value }"
_DEEP = 40  # pages

QUESTIONS = {
    "first page": f"{{ evaluationTrials {{ edges {{ node {{ {_TRIAL} }} }} pageInfo {{ endCursor }} }} }}",
    "page by reward": f"{{ evaluationTrials(orderBy: REWARD_LOWEST) {{ edges {{ node {{ {_TRIAL} }} }} }} }}",
    "filtered page": f"""{{ evaluationTrials(filter: {{ failureCategory: ["wrong_quantity"], rewardBelow: 0.6 }}) {{
      edges {{ node {{ {_TRIAL} }} }} }} }}""",
    "page filtered to nothing": """{ evaluationTrials(filter: { stage: "stage_never" }) { edges { node { id } } } }""",
    "deep page": f"""query($after: String) {{ evaluationTrials(after: $after) {{
      edges {{ node {{ {_TRIAL} }} }} }} }}""",
    "capability gaps": """query($version: ID!) { environmentVersion(id: $version) { capabilityGaps {
      trials categorized gaps { failureCategory trials } } } }""",
    "partial rewards": """query($version: ID!) { environmentVersion(id: $version) {
      partialRewards { stage trials mean min max full } } }""",
}


def deep_cursor(server: Server) -> str:
    """Behind the twenty thousandth trial, or as far as there are some."""
    query = (
        "query($after: String) { evaluationTrials(first: 500, after: $after) { pageInfo { endCursor hasNextPage } } }"
    )
    cursor: Any = None
    for _ in range(_DEEP):
        info = answer(server, query, {"after": cursor})["evaluationTrials"]["pageInfo"]
        if not info["hasNextPage"]:
            break
        cursor = info["endCursor"]
    return str(cursor)


def main() -> None:
    made = parser(__doc__)
    made.add_argument("--seconds", type=int, default=2)
    arguments = made.parse_args()
    sizes = (10_000, 100_000) if arguments.quick else (100_000, 1_000_000)
    with reported(arguments) as (report, directory), ExitStack() as stack:
        sides: list[tuple[Filled, Server, str]] = []
        for trials in sizes:
            database = filled(stack, Path(directory, str(trials)), trials)
            server = stack.enter_context(service(database))
            sides.append((database, server, deep_cursor(server)))
        for name, question in QUESTIONS.items():
            times: list[list[float]] = [[], []]
            for _ in range(ROUNDS):
                for taken, (database, server, cursor) in zip(times, sides, strict=True):
                    given = {"version": database.version, "after": cursor}
                    used = {key: value for key, value in given.items() if f"${key}:" in question}
                    body = json.dumps(server.body(question, used))
                    taken.append(1000 / drive(server, database.postmaster, body, 1, arguments.seconds).rate)
            small, large = map(median, times)
            print(f"{name:26} {small:6.2f} ms at {sizes[0]:,}  {large:6.2f} ms at {sizes[1]:,}  {large / small:.2f}x")
            report.at_most(f"{name.replace(' ', '_')}_growth", large / small, MOST_GROWTH)


if __name__ == "__main__":
    main()
