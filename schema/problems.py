"""Expected failures of mutations, as types: what a front end can show beside the field at fault."""

import strawberry

from db.errors import ConflictError, ExpectedError, ForbiddenError, InvalidInputError, NotFoundError


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
