"""Expected failures, told to clients as they are; everything else is masked."""

from collections.abc import Sequence


class ExpectedError(Exception):
    """A failure that its message explains to whoever asked."""

    code = "EXPECTED"

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


class InvalidInputError(ExpectedError):
    """What was asked cannot be done as it stands: `field` is the path of the offending input, outermost first."""

    code = "INVALID_INPUT"

    def __init__(self, message: str, field: Sequence[str]) -> None:
        super().__init__(message)
        self.field = tuple(field)


class NotFoundError(ExpectedError):
    """Nothing with this id in this organization; a foreign id and an unknown one are not told apart."""

    code = "NOT_FOUND"


class ConflictError(ExpectedError):
    """What is there already does not allow it."""

    code = "CONFLICT"


class ForbiddenError(ExpectedError):
    """The role of whoever asked does not allow it."""

    code = "FORBIDDEN"


class StatementTimeoutError(ExpectedError):
    """The database stopped a statement that took too long."""

    code = "TIMEOUT"

    def __init__(self, limit: str) -> None:
        super().__init__(f"A statement took longer than {limit}, which is the limit in the database; ask for less.")
