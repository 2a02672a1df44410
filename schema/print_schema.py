"""Writes schema/schema.graphql, the graph as clients see it: `python -m schema.print_schema`."""

from pathlib import Path

from schema.graph import graph

PRINTED = Path(__file__).with_name("schema.graphql")


def printed() -> str:
    return graph.as_str() + "\n"


def main(target: Path = PRINTED) -> None:
    target.write_text(printed(), "utf-8")


if __name__ == "__main__":
    main()
