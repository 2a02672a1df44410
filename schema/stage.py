"""Stages: partial rewards that a worker wrote."""

from typing import Self

import orjson
import strawberry

from db.query import Json


@strawberry.type
class Stage:
    name: str
    value: float

    @classmethod
    def all_of(cls, stored: Json) -> list[Self]:
        return [cls(name=stage["name"], value=stage["value"]) for stage in orjson.loads(stored)]
