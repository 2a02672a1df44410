"""What the documentation names exists, and its tables agree with the service."""

import json
import re
import shlex
from collections.abc import Iterator
from itertools import takewhile
from pathlib import Path
from typing import Any

import pytest
import typer

from agentforge.__main__ import app
from agentforge.settings import Settings
from agentforge.worker.room import PASSED_VARIABLES
from resolvers.manifest import parse_manifest
from streaming.routes import routes
from tests.markdown import FENCE, README, fences, named, read, table
from tests.service import PROJECT, Client, Service

OPERATIONS = PROJECT / "docs" / "operations.md"
EXPORTS = PROJECT / "docs" / "exports.md"
DOCUMENTS = [README, *sorted((PROJECT / "docs").glob("*.md")), PROJECT / "examples" / "admin_console" / "README.md"]

UNKNOWN_ID = "00000000-0000-7000-8000-000000000000"
BUNDLE = f"/api/v1/bundles/{'0' * 64}"

#: Variables that are not settings of the service: of `agentforge export` and the tour, of the tests, and those that
#: worlds and evaluators get.
OTHER_VARIABLES = {"AGENTFORGE_URL", "AGENTFORGE_TOKEN", "AGENTFORGE_FUZZ", "AGENTFORGE_SEED", "AGENTFORGE_STEPS"}


def command_lines(path: Path) -> Iterator[list[str]]:
    """The words after `agentforge` of each command line that a document shows."""
    text = read(path)
    shell = [match["text"] for match in FENCE.finditer(text) if match["kind"] in ("sh", "sh tour")]
    prose = FENCE.sub("", text)
    indented = [line for line in prose.splitlines() if line.startswith("    agentforge")]
    for line in "\n".join([*shell, *indented, *named(prose)]).replace("\\\n", " ").splitlines():
        if found := re.search(r"(?<![\w./-])agentforge +([a-z].*)", line):
            lexer = shlex.shlex(found[1], posix=True, punctuation_chars=True)
            lexer.whitespace_split = True
            yield list(takewhile(lambda word: not set(word) <= set("();<>|&"), lexer))


def commands(group: Any, *path: str) -> dict[tuple[str, ...], Any]:
    """Every command that is not hidden, by its words."""
    found: dict[tuple[str, ...], Any] = {}
    for name, command in group.commands.items():
        if not command.hidden:
            found |= commands(command, *path, name) if hasattr(command, "commands") else {(*path, name): command}
    return found


def test_every_command_shown_exists_and_takes_its_options() -> None:
    known = commands(typer.main.get_command(app))
    shown = set()
    for words in (words for path in DOCUMENTS for words in command_lines(path)):
        key = next((key for key in known if tuple(words[: len(key)]) == key), None)
        assert key is not None, f"agentforge {' '.join(words)}"
        shown.add(key)
        command, arguments = known[key], words[len(key) :]
        # Raises for an option that the command has not, and for one without its value.
        _, operands, _ = command.make_parser(command.context_class(command)).parse_args(arguments)
        assert not operands, words
    assert shown == known.keys(), "each command is shown somewhere"


def test_the_settings_are_those_of_the_service() -> None:
    documented: dict[str, str] = {}
    for names, defaults, meaning in table(OPERATIONS, "variable"):
        assert meaning
        given = [text.strip() for text in defaults.split(",")]
        documented |= dict(zip(named(names), given, strict=True))
    assert documented.pop(PASSED_VARIABLES) == ""
    assert documented.pop("AGENTFORGE_CONCURRENCY") == "processors"
    defaults_of = {f"AGENTFORGE_{name}".upper(): field.default for name, field in Settings.model_fields.items()}
    del defaults_of["AGENTFORGE_CONCURRENCY"]
    shown = {
        name: "" if default is None else f"`{default:g}`" if isinstance(default, float) else f"`{default}`"
        for name, default in defaults_of.items()
    }
    assert documented == shown


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: str(path.relative_to(PROJECT)))
def test_every_variable_named_exists(path: Path) -> None:
    settings = {f"AGENTFORGE_{name}".upper() for name in Settings.model_fields}
    assert set(re.findall(r"AGENTFORGE_[A-Z_]+", read(path))) <= settings | {PASSED_VARIABLES} | OTHER_VARIABLES


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: str(path.relative_to(PROJECT)))
def test_links_and_files_named_are_there(path: Path) -> None:
    text = read(path)
    links = [link for link in re.findall(r"\]\(([^)]+)\)", text) if "://" not in link]
    assert [link for link in links if not (path.parent / link.partition("#")[0]).exists()] == []
    folders = "agentforge|schema|resolvers|streaming|db|web|examples|tests|docs"
    files = re.findall(rf"(?<![\w/{{.-])(?:{folders})/[\w./-]*\w", FENCE.sub("", text))
    assert [file for file in files if not (PROJECT / file).exists() and "NOUN" not in file] == []


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: str(path.relative_to(PROJECT)))
def test_json_shown_is_json(path: Path) -> None:
    for text in fences(path, "json"):
        json.loads(text)


def test_the_manifest_shown_is_one() -> None:
    (text,) = fences(README, "json")
    shown = json.loads(text)
    parse_manifest(shown)
    example = json.loads(read(PROJECT / "examples" / "admin_console" / "environment.json"))
    assert shown | {"task": ""} == example | {"task": ""}, "it shows the example's, with a shorter task"


def forbidden(client: Client, verb: str) -> bool:
    """Whether the service refuses to do this for the client's role; what it is asked for does not exist."""
    manifest = '{ task: "x", world: { command: ["x"] }, evaluator: { command: ["x"] } }'
    fields = {
        "read": "viewer { __typename }",
        "publish": f'publishEnvironmentVersion(input: {{ environmentId: "{UNKNOWN_ID}", manifest: {manifest} }})',
        "start": "startEvaluation(input: "
        f'{{ environmentVersionId: "{UNKNOWN_ID}", evaluatorConfigurationId: "{UNKNOWN_ID}" }})',
        "reset": f'resetEnvironment(input: {{ environmentVersionId: "{UNKNOWN_ID}", mode: NEW_WORLD }})',
        "cancel": f'cancelEvaluationRun(input: {{ evaluationRunId: "{UNKNOWN_ID}" }})',
        "add attempts": f'addAttempts(input: {{ evaluationRunId: "{UNKNOWN_ID}", count: 1 }})',
        "rerun": f'rerunUnscored(input: {{ evaluationRunId: "{UNKNOWN_ID}" }})',
        "manage members": f'removeMember(input: {{ memberId: "{UNKNOWN_ID}" }})',
        "manage secrets": 'removeSecret(input: { name: "ABSENT" })',
        "manage tokens": f'revokeApiToken(input: {{ apiTokenId: "{UNKNOWN_ID}" }})',
    }
    if verb in fields:
        query = f"{{ {fields[verb]} }}" if verb == "read" else f"mutation {{ {fields[verb]} {{ __typename }} }}"
        answer = client.request("POST", "/graphql", json={"query": query})
        (typename,) = [one["__typename"] for one in (answer.json().get("data") or {"": {"__typename": None}}).values()]
        assert typename in (None, "Viewer", "NotFound", "Forbidden"), answer.text
        return answer.status_code == 403 or typename == "Forbidden"
    return client.get({"export": "/api/v1/rollouts", "download bundles": BUNDLE}[verb]).status_code == 403


def test_roles_may_do_what_their_table_says(service: Service, tokens: dict[str, str]) -> None:
    rows: dict[str, list[str]] = {}
    for roles, may in table(OPERATIONS, "role"):
        rows |= dict.fromkeys(re.findall(r"\w+", roles), re.split(", | and ", may))
    verbs = {verb for row in rows.values() for verb in row} - {"nothing else"}
    for role, token in tokens.items():
        refused = {verb for verb in verbs if forbidden(Client(service.url, token), verb)}
        # Reading includes the files that a version is made of.
        assert refused == verbs - set(rows[role]) - {"download bundles"}, role


def test_addresses_are_open_to_whom_their_table_names(service: Service, tokens: dict[str, str]) -> None:
    shown = {named(address)[0]: who for address, who, _ in table(EXPORTS, "address")}
    assert {address.split(" ")[1] for address in shown} == {route.path for route in routes}
    for address, who in shown.items():
        method, path = address.replace("{id}", UNKNOWN_ID).replace("{sha256}", "0" * 64).split(" ")
        allowed = set(tokens) if who == "every role" else set(who.split(", "))
        answers = {role: Client(service.url, token).request(method, path) for role, token in tokens.items()}
        assert {role for role, answer in answers.items() if answer.status_code != 403} == allowed, address
