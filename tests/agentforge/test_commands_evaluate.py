"""What `agentforge evaluate` refuses before anything is asked of a database."""

from pathlib import Path

import pytest

from agentforge.commands.output import BAD_INPUT
from tests.service import command


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ((), "Give either --agent or --configuration."),
        (("--agent", "true", "--configuration", "nightly"), "Give either --agent or --configuration."),
        (("--configuration", "nightly", "--attempts", "2"), "Leave out --attempts: the configuration says how many."),
    ],
)
def test_options_that_contradict_each_other(options: tuple[str, ...], said: str, tmp_path: Path) -> None:
    done = command("evaluate", "shop", *options, data_dir=tmp_path)
    assert (done.returncode, said in done.stderr) == (BAD_INPUT, True)
    assert list(tmp_path.iterdir()) == []
