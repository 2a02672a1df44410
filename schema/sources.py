"""Where a field's value comes from, said once: Strawberry's executor calls it, the compiled one reads it.

A type over rows needs no more than annotations for its columns. Fields that are not columns say here what they are.
"""

import json
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from inspect import Parameter, Signature, signature
from typing import Any, ClassVar, Self, cast

import strawberry
from strawberry.types.field import StrawberryField
from strawberry.utils.str_converters import to_camel_case

from resolvers.loaders import Many, One
from resolvers.pages import Listing, fetch
from schema.connection import connection
from schema.info import Info


class OverRow:
    """A type whose values are rows of the class `row`: an annotated field is the column of its name."""

    row: ClassVar[type[object]]

    @classmethod
    def of(cls, row: object) -> Self:
        return cast("Self", row)

    @classmethod
    def is_type_of(cls, value: object, info: object) -> bool:
        return isinstance(value, cls.row)


@dataclass(frozen=True, slots=True)
class Stored:
    """JSON text of a column, which is in the API's shape; of objects of type `of` where there are any."""

    column: str
    of: type[object] | None


@dataclass(frozen=True, slots=True)
class Computed:
    """What a function makes of the columns that its parameters name."""

    function: Callable[..., object]
    columns: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Edge:
    """The row or rows that an edge leads to from the column `key`, or what `of` makes of them."""

    edge: One[Any] | Many[Any]
    key: str
    of: Callable[[Any], object] | None


@dataclass(frozen=True, slots=True)
class Found:
    """The row that an edge leads to from a key which `key` makes of the field's arguments."""

    edge: One[Any]
    key: Callable[..., Hashable | None]


@dataclass(frozen=True, slots=True)
class Listed:
    """A connection over what `listing` makes of the field's arguments; from the column `key` where it has a parent."""

    listing: Callable[..., Listing[Any]]
    key: str | None


Source = Stored | Computed | Edge | Found | Listed

_SOURCE = "source"


def source_of(field: StrawberryField) -> Source | None:
    """None for a column, and for a field with a resolver of its own."""
    source: Source | None = field.metadata.get(_SOURCE)
    return source


def _field(resolver: Callable[..., Any], source: Source, description: str | None) -> Any:
    return strawberry.field(resolver=resolver, metadata={_SOURCE: source}, description=description)


def stored(column: str, of: type[object] | None = None, *, description: str | None = None) -> Any:
    """A field of JSON text that the column holds in the API's shape: anything, or a list of objects of type `of`."""

    def resolve(root: Any) -> Any:
        text = getattr(root, column)
        if text is None:
            return None
        value = json.loads(text)
        return value if of is None else [_object(of, one) for one in value]

    return _field(resolve, Stored(column, of), description)


def _object(of: type[object], value: dict[str, object]) -> object:
    names = [field.python_name for field in cast("Any", of).__strawberry_definition__.fields]
    return of(**{name: value[to_camel_case(name)] for name in names})


def computed(function: Callable[..., object], *, description: str | None = None) -> Any:
    """A field that is made of columns of its row: those that the parameters of `function` name."""
    columns = tuple(signature(function).parameters)

    def resolve(root: Any) -> Any:
        return function(*(getattr(root, column) for column in columns))

    return _field(resolve, Computed(function, columns), description)


def edge(
    to: One[Any] | Many[Any],
    *,
    key: str,
    of: Callable[[Any], object] | None = None,
    description: str | None = None,
) -> Any:
    """A field that leads from the row's column `key` to another row, to several, or to what `of` makes of them."""

    async def resolve(root: Any, info: Info) -> Any:
        rows = await info.context.load(cast("One[Any]", to), getattr(root, key))
        return rows if of is None else of(rows)

    return _field(resolve, Edge(to, key, of), description)


def found(to: One[Any], *, key: Callable[..., Hashable | None], description: str | None = None) -> Any:
    """A field without a parent that looks up the one row whose key `key` makes of the arguments; None finds nothing."""

    async def resolve(info: Info, **arguments: Any) -> Any:
        return await info.context.load(to, key(**arguments))

    _take_arguments(resolve, ["info"], key)
    return _field(resolve, Found(to, key), description)


def listed(listing: Callable[..., Listing[Any]], *, key: str | None = None, description: str | None = None) -> Any:
    """A connection over the page that `listing` describes; its parameters are the field's arguments."""

    async def resolve(root: Any, info: Info, **arguments: Any) -> Any:
        parent = None if key is None else getattr(root, key)
        return connection(await fetch(info.context, listing(**arguments), parent))

    _take_arguments(resolve, ["root", "info"], listing)
    return _field(resolve, Listed(listing, key), description)


def _take_arguments(resolve: Callable[..., object], own: Sequence[str], like: Callable[..., object]) -> None:
    """Gives a resolver the arguments of another function, which is how Strawberry learns them."""
    kept = [one for name, one in signature(resolve).parameters.items() if name in own]
    taken = [one.replace(kind=Parameter.KEYWORD_ONLY) for one in signature(like, eval_str=True).parameters.values()]
    resolve.__signature__ = Signature([*kept, *taken])  # type: ignore[attr-defined]
