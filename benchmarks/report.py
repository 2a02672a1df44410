"""What a benchmark tells: bars that hold or not, the machine, and one line of JSON for other programs."""

import argparse
import datetime
import json
import os
import platform
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil


@dataclass
class Report:
    """Each bar is met by a value of at least, or of at most, so much."""

    bars: dict[str, dict[str, Any]] = field(default_factory=dict)

    def at_least(self, name: str, value: float, bar: float) -> None:
        self.bars[name] = {"value": round(value, 2), "bar": bar, "holds": value >= bar}

    def at_most(self, name: str, value: float, bar: float) -> None:
        self.bars[name] = {"value": round(value, 2), "bar": bar, "holds": value <= bar}

    def absent(self, name: str, reason: str) -> None:
        self.bars[name] = {"value": None, "bar": None, "holds": None, "reason": reason}


def machine() -> dict[str, Any]:
    model = next(
        (
            line.partition(":")[2].strip()
            for line in Path("/proc/cpuinfo").read_text().splitlines()
            if "model name" in line
        ),
        platform.processor(),
    )
    return {
        "processor": model,
        "cores": os.cpu_count(),
        "memoryGiB": round(psutil.virtual_memory().total / 2**30),
        "python": f"{platform.python_version()} ({' '.join(platform.python_build())})",
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
    }


def parser(description: str | None) -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    made.add_argument("--quick", action="store_true", help="smaller and shorter: within five minutes")
    made.add_argument("--json", action="store_true", help="last, one line with the bars and the machine")
    made.add_argument("--data-dir", type=Path, help="kept, and filled when it is new")
    return made


@contextmanager
def reported(arguments: argparse.Namespace) -> Iterator[tuple[Report, Path]]:
    """A report and a folder to work in; the bars are printed at the end."""
    report = Report()
    with tempfile.TemporaryDirectory(prefix="af") as temporary:
        yield report, arguments.data_dir or Path(temporary)
    told = machine()
    print("\n" + ", ".join(f"{name}: {value}" for name, value in told.items()))
    for name, bar in report.bars.items():
        if bar["value"] is None:
            print(f"  {name}: not measured, {bar['reason']}")
        else:
            print(f"  {name}: {bar['value']} (bar {bar['bar']}) {'holds' if bar['holds'] else 'does not hold'}")
    if arguments.json:
        print(json.dumps({"bars": report.bars, "machine": told}))
