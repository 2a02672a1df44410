"""Stages: partial rewards that a worker wrote."""

import strawberry


@strawberry.type
class Stage:
    name: str
    value: float
