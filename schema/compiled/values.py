"""How a column's value becomes a value of the answer: an expression of generated code for each type of field."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Final

import orjson
from graphql import GraphQLEnumType, GraphQLScalarType, get_nullable_type, is_list_type, is_non_null_type

from db.json_lists import Form, Shown, Template, without_last
from schema.compiled.selections import CannotCompileError

#: Scalars that are shown as text, which the database makes.
_TEXT: Final = frozenset({"ID", "BigInt"})
#: Scalars whose values orjson writes as Strawberry would.
_AS_IT_IS: Final = frozenset({"String", "Int", "Float", "Boolean", "DateTime"})
_FORMS: Final[dict[str, Form]] = {
    **dict.fromkeys(_TEXT, "quoted"),
    **dict.fromkeys(("Int", "Float", "Boolean"), "json"),
    "String": "string",
    "DateTime": "moment",
}


@dataclass(frozen=True, slots=True)
class Entry:
    """What stands beside one response key: an expression, and JSON text of it where the database can make that."""

    key: str
    expression: str
    text: Template | None = None


def as_object(entries: Sequence[Entry]) -> tuple[str, Template | None]:
    """The object of these entries, as an expression and as JSON text."""
    expression = "{" + ", ".join(f"{entry.key!r}: {entry.expression}" for entry in entries) + "}"
    text: Template = ("{",)
    for entry in entries:
        if entry.text is None:
            return expression, None
        text = (*text, f'{"," if len(text) > 1 else ""}"{entry.key}":', *entry.text)
    return expression, (*text, "}")


@dataclass(slots=True)
class Names:
    """What generated code refers to, each under a name of its own."""

    values: dict[str, object] = field(default_factory=dict)

    def add(self, value: object) -> str:
        name = f"n{len(self.values)}"
        self.values[name] = value
        return name


def is_text(output: Any) -> bool:
    """Whether the database shall give this type's values as text."""
    named = get_nullable_type(output)
    return isinstance(named, GraphQLScalarType) and named.name in _TEXT


def scalar(output: Any, value: str, names: Names, *, made_text: bool = True) -> str:
    """The expression that shows `value`, itself an expression. Raises CannotCompileError for what is no leaf.

    `made_text`: what is shown as text comes as text.
    """
    named = get_nullable_type(output)
    if isinstance(named, GraphQLEnumType):
        members = names.add({member.value: name for name, member in named.values.items()} | {None: None})
        return f"{members}[{value}]"
    if is_list_type(named):
        inner = get_nullable_type(named.of_type)
        if isinstance(inner, GraphQLScalarType) and inner.name in _AS_IT_IS:
            return value
    elif isinstance(named, GraphQLScalarType):
        if named.name in _AS_IT_IS or (named.name in _TEXT and made_text):
            return value
        if named.name in _TEXT:
            return f"(None if {value} is None else str({value}))"
    raise CannotCompileError(f"a value of type {output}")


def shown(output: Any, column: str) -> Template | None:
    """JSON text of a column's value; None for what only `scalar` shows."""
    named, required = get_nullable_type(output), is_non_null_type(output)
    if isinstance(named, GraphQLEnumType):
        members = (
            (one.value.value if isinstance(one.value, Enum) else one.value, name) for name, one in named.values.items()
        )
        return (Shown(column, tuple(members), required),)
    form = _FORMS.get(named.name) if isinstance(named, GraphQLScalarType) else None
    return None if form is None else (Shown(column, form, required),)


def json_list(text: bytes | None, rows: int, last: int | None = None) -> orjson.Fragment:
    """A list of `json_lists.list_projection`, without its last item where that has so many bytes.

    Raises ValueError where a null stood in for what may be none.
    """
    if text is None and rows:
        raise ValueError("a null where none may be")
    return orjson.Fragment(b"[]" if text is None else without_last(text, last))


def json_text(output: Any, value: str, names: Names) -> str:
    """The expression that passes JSON text on as it is."""
    passed = f"{names.add(orjson.Fragment)}({value})"
    return passed if is_non_null_type(output) else f"(None if {value} is None else {passed})"


def is_stored(keys: Sequence[tuple[str, str | None]], stored: Sequence[str]) -> bool:
    """Whether the keys asked for are the keys stored."""
    return [*keys] == [(name, name) for name in stored]


def json_objects(keys: Sequence[tuple[str, str | None]], stored: Sequence[str], typename: str) -> Callable[[str], Any]:
    """A function from JSON text, a list of objects with the keys `stored`, to the list with the keys asked for.

    Each of `keys` is a response key and the stored key that it shows, or None for the type's name.
    """
    if is_stored(keys, stored):
        return orjson.Fragment

    def renamed(text: str) -> list[dict[str, Any]]:
        return [{asked: typename if name is None else one[name] for asked, name in keys} for one in orjson.loads(text)]

    return renamed
