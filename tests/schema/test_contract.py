"""The printed schema is the committed one, and keeps what front ends rely on."""

from pathlib import Path

from graphql import GraphQLSchema, build_schema
from graphql.utilities import DangerousChangeType, find_breaking_changes, find_dangerous_changes

from schema.print_schema import PRINTED, main, printed

CONTRACT = Path(__file__).parent.parent / "contract" / "schema.graphql"


def read(path: Path) -> GraphQLSchema:
    return build_schema(path.read_text("utf-8"))


def test_the_committed_schema_is_the_printed_one() -> None:
    assert PRINTED.read_text("utf-8") == printed(), "write it anew: python -m schema.print_schema"


def test_printing_writes_it_anew(tmp_path: Path) -> None:
    main(tmp_path / "schema.graphql")
    assert (tmp_path / "schema.graphql").read_bytes() == PRINTED.read_bytes()


def test_nothing_in_the_contract_is_broken() -> None:
    assert [change.description for change in find_breaking_changes(read(CONTRACT), read(PRINTED))] == []


def test_the_contract_gains_no_member_that_a_client_could_not_know() -> None:
    dangerous = find_dangerous_changes(read(CONTRACT), read(PRINTED))
    # What may be left out changes nothing for who leaves it out.
    harmless = {DangerousChangeType.OPTIONAL_ARG_ADDED, DangerousChangeType.OPTIONAL_INPUT_FIELD_ADDED}
    assert [change.description for change in dangerous if change.type not in harmless] == []


def test_the_comparison_sees_a_broken_contract() -> None:
    text = PRINTED.read_text("utf-8").replace("  failureCategory: String\n", "", 1)
    assert find_breaking_changes(read(CONTRACT), build_schema(text))
