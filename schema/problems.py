"""Expected failures of mutations, as types: what a front end can show beside the field at fault."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Concatenate, ParamSpec, TypeVar

import strawberry

from db.errors import ConflictError, ExpectedError, ForbiddenError, InvalidInputError, NotFoundError
from db.tenant import Tenant
from schema.info import Info
from schema.viewer import MemberRole

Result = TypeVar("Result")
Row = TypeVar("Row")
Arguments = ParamSpec("Arguments")


@strawberry.interface
class Problem:
    message: str


@strawberry.type
class InvalidInput(Problem):
    field: list[str] = strawberry.field(description="Path of the offending input field.")


@strawberry.type
class NotFound(Problem):
    pass


@strawberry.type
class Conflict(Problem):
    pass


@strawberry.type
class Forbidden(Problem):
    pass


AnyProblem = InvalidInput | NotFound | Conflict | Forbidden


def problem_of(error: ExpectedError) -> AnyProblem:
    """Raises the error itself when no type of problem stands for it."""
    match error:
        case InvalidInputError():
            return InvalidInput(message=error.message, field=["input", *error.field])
        case NotFoundError():
            return NotFound(message=error.message)
        case ConflictError():
            return Conflict(message=error.message)
        case ForbiddenError():
            return Forbidden(message=error.message)
        case _:
            raise error


async def answer(
    info: Info,
    roles: Sequence[MemberRole],
    of: Callable[[Row], Result],
    operation: Callable[Concatenate[Tenant, Arguments], Awaitable[Row]],
    *arguments: Arguments.args,
    **named: Arguments.kwargs,
) -> Result | AnyProblem:
    """What `operation` made, as a GraphQL type, or the problem that stopped it; only for the given roles."""
    role = info.context.identity.role
    try:
        if role not in {allowed.value for allowed in roles}:
            raise ForbiddenError(f"A {role} may not do this; it takes {' or '.join(one.value for one in roles)}.")
        row = await operation(info.context.tenant, *arguments, **named)
    except ExpectedError as error:
        return problem_of(error)
    # A document may hold several mutations: each shows what is there after it.
    info.context.refresh()
    return of(row)
