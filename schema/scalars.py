"""Scalars that GraphQL itself lacks."""

import re
from typing import NewType

import strawberry
from graphql import GraphQLError
from strawberry.types.scalar import ScalarDefinition

BigInt = NewType("BigInt", int)

_SMALLEST, _LARGEST = -(2**63), 2**63 - 1
_DECIMAL = re.compile(r"-?[0-9]{1,19}", re.ASCII)


def _parse(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int | str):
        raise GraphQLError(f"{value!r:.100} is not a BigInt: give a string or an integer.")
    if isinstance(value, str) and not _DECIMAL.fullmatch(value):
        raise GraphQLError(f"{value!r:.100} is not a BigInt: not a whole number of up to 19 digits.")
    number = int(value)
    if not _SMALLEST <= number <= _LARGEST:
        raise GraphQLError(f"{value!r:.100} is not a BigInt: it takes more than 64 bits.")
    return number


SCALARS: dict[object, ScalarDefinition] = {
    BigInt: strawberry.scalar(
        name="BigInt",
        description="A 64-bit integer. A string on the way out; a string or an integer on the way in.",
        serialize=str,
        parse_value=_parse,
    )
}
