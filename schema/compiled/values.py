"""How a column's value becomes a value of the answer: an expression of generated code for each type of field."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import orjson
from graphql import GraphQLEnumType, GraphQLScalarType, get_nullable_type, is_list_type, is_non_null_type

from schema.compiled.selections import CannotCompileError

#: Scalars that are shown as text, which the database makes.
_TEXT: Final = frozenset({"ID", "BigInt"})
#: Scalars whose values orjson writes as Strawberry would.
_AS_IT_IS: Final = frozenset({"String", "Int", "Float", "Boolean", "DateTime"})


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


def json_text(output: Any, value: str, names: Names) -> str:
    """The expression that passes JSON text on as it is."""
    passed = f"{names.add(orjson.Fragment)}({value})"
    return passed if is_non_null_type(output) else f"(None if {value} is None else {passed})"


def json_objects(keys: Sequence[tuple[str, str | None]], stored: Sequence[str], typename: str) -> Callable[[str], Any]:
    """A function from JSON text, a list of objects with the keys `stored`, to the list with the keys asked for.

    Each of `keys` is a response key and the stored key that it shows, or None for the type's name.
    """
    if [asked for asked, _ in keys] == list(stored) and [shown for _, shown in keys] == list(stored):
        return orjson.Fragment

    def renamed(text: str) -> list[dict[str, Any]]:
        return [
            {asked: typename if shown is None else one[shown] for asked, shown in keys} for one in orjson.loads(text)
        ]

    return renamed
