"""Writes the exact version of every dependency into [tool.uv] constraint-dependencies of pyproject.toml.

A committed uv.lock would record where each file was downloaded from; names and versions are all that a checkout needs.
"""

import re
import subprocess
from pathlib import Path

PROJECT = Path(__file__).parents[1] / "pyproject.toml"
TABLE = re.compile(r"^constraint-dependencies = \[\n.*?^\]\n", re.MULTILINE | re.DOTALL)


def resolve() -> list[str]:
    """Requirement lines with exact versions and environment markers, sorted by name, free of earlier pins."""
    PROJECT.write_text(TABLE.sub("constraint-dependencies = [\n]\n", PROJECT.read_text("utf-8")), "utf-8")
    subprocess.run(["uv", "lock", "--quiet", "--upgrade"], check=True)
    export = ["uv", "export", "--quiet", "--all-groups", "--no-hashes", "--no-emit-project", "--no-annotate"]
    return subprocess.run([*export, "--no-header"], check=True, capture_output=True, text=True).stdout.splitlines()


def main() -> None:
    before = PROJECT.read_text("utf-8")
    try:
        pins = "".join(f"  '{line}',\n" if '"' in line else f'  "{line}",\n' for line in resolve())
    except BaseException:
        PROJECT.write_text(before, "utf-8")
        raise
    PROJECT.write_text(TABLE.sub(lambda _: f"constraint-dependencies = [\n{pins}]\n", before), "utf-8")


if __name__ == "__main__":
    main()
