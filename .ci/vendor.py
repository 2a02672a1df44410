"""Fetches the workspace's libraries from npm into web/vendor/ and lists them in its VENDORED.md: `just vendor`.

Modules come as they are published, with the names that they import by turned into the files beside them, since
browsers know no packages and an import map in the page would need a policy that allows inline scripts.
"""

import hashlib
import json
import subprocess
import tarfile
import tempfile
from dataclasses import dataclass
from pathlib import Path

VENDOR = Path(__file__).parents[1] / "web" / "vendor"
LIST = VENDOR / "VENDORED.md"
BEGIN, END = "<!-- written by `just vendor` -->", "<!-- to here -->"


@dataclass(frozen=True)
class File:
    """One file of a package: its place in the archive, its name here, what is changed, where its types come from."""

    source: str
    name: str
    replace: tuple[tuple[str, str], ...] = ()
    before: str = ""
    after: str = ""
    types: str = ""


@dataclass(frozen=True)
class Package:
    name: str
    version: str
    licence: str
    licence_file: str
    files: tuple[File, ...]

    @property
    def licence_name(self) -> str:
        return "LICENSE." + self.name.removeprefix("@").replace("/", "-").lower()


PREACT = (('"preact/hooks"', '"./preact-hooks.js"'), ('"preact"', '"./preact.js"'))
COMMON = ("./common-CGW11Fyb.js", "./graphql-ws-common.js")

PACKAGES = (
    Package("preact", "11.2.0", "MIT", "LICENSE", (
        File("dist/preact.mjs", "preact.js", types='* from "preact"'),
        File("hooks/dist/hooks.mjs", "preact-hooks.js", PREACT, types='* from "preact/hooks"'),
    )),
    Package("@preact/signals-core", "1.14.5", "MIT", "LICENSE", (File("dist/signals-core.mjs", "signals-core.js"),)),
    Package("@preact/signals", "2.11.4", "MIT", "LICENSE", (
        File(
            "dist/signals.mjs",
            "signals.js",
            (*PREACT, ('"@preact/signals-core"', '"./signals-core.js"')),
            types='* from "@preact/signals"',
        ),
    )),
    Package("htm", "3.1.1", "Apache-2.0", "LICENSE", (
        File("dist/htm.mjs", "htm.js", types='{ default } from "htm"'),
    )),
    Package("graphql-ws", "6.4.2", "MIT", "LICENSE.md", (
        File("dist/client.js", "graphql-ws.js", (COMMON,), types='* from "graphql-ws"'),
        File("dist/common-CGW11Fyb.js", "graphql-ws-common.js"),
    )),
    Package("uplot", "1.6.32", "MIT", "LICENSE", (
        File("dist/uPlot.iife.min.js", "uplot.js", after="\nexport default uPlot;\n", types='{ default } from "uplot"'),
        File("dist/uPlot.min.css", "uplot.css"),
    )),
    Package("anser", "2.3.5", "MIT", "LICENSE", (
        File(
            "lib/index.js",
            "anser.js",
            before="const module = {};\n",
            after="\nexport default module.exports;\n",
            types='{ default } from "anser"',
        ),
    )),
)  # fmt: skip


def download(package: Package, folder: Path) -> Path:
    """The unpacked archive; npm compares it with the hash that the registry has."""
    asked = ["npm", "pack", f"{package.name}@{package.version}", "--json", "--pack-destination", str(folder)]
    told = json.loads(subprocess.run(asked, check=True, capture_output=True, text=True, cwd=folder).stdout)
    (packed,) = told if isinstance(told, list) else told.values()
    unpacked = folder / package.licence_name
    with tarfile.open(folder / packed["filename"].replace("@", "").replace("/", "-")) as archive:
        archive.extractall(unpacked, filter="data")
    return unpacked / "package"


def place(package: Package, unpacked: Path) -> list[str]:
    """Writes the package's files and its licence; returns their rows of the list."""
    (VENDOR / package.licence_name).write_bytes((unpacked / package.licence_file).read_bytes())
    rows = []
    for file in package.files:
        text = (unpacked / file.source).read_text("utf-8")
        for old, new in file.replace:
            text = text.replace(old, new)
        content = (file.before + text + file.after).encode()
        (VENDOR / file.name).write_bytes(content)
        if file.types:
            (VENDOR / file.name).with_suffix(".d.ts").write_text(f"export {file.types};\n", "utf-8")
        changed = "names" if file.replace else "export" if file.after else "no"
        digest = hashlib.sha256(content).hexdigest()
        rows.append(
            f"| {file.name} | {package.name} {file.source} | {changed} | {package.version} "
            f"| {package.licence}, {package.licence_name} | {digest} |"
        )
    return rows


def main() -> None:
    before, _, rest = LIST.read_text("utf-8").partition(BEGIN)
    with tempfile.TemporaryDirectory() as folder:
        rows = [row for package in PACKAGES for row in place(package, download(package, Path(folder)))]
    header = ["| file | package | changed | version | licence | SHA-256 |", "| --- | --- | --- | --- | --- | --- |"]
    table = "\n".join([BEGIN, "", *header, *rows, "", END])
    LIST.write_text(before + table + rest.partition(END)[2], "utf-8")


if __name__ == "__main__":
    main()
