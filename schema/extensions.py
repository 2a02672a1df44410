"""Around every operation: a context of its own, limits, and errors that tell clients no more than they may know."""

import uuid
from collections.abc import Callable, Iterator

import structlog
from graphql import GraphQLError, VariableDefinitionNode, get_operation_ast
from strawberry.exceptions import MissingQueryError
from strawberry.extensions import MaskErrors, MaxTokensLimiter, SchemaExtension
from strawberry.schema.exceptions import CannotGetOperationTypeError, InvalidOperationTypeError

from db.errors import ExpectedError, InvalidInputError
from schema.compiled.documents import Documents
from schema.cost import cost_of
from schema.limits import MOST_TOKENS, refusal_of_variables, refusals_of_document

log = structlog.get_logger()


class OperationContext(SchemaExtension):
    """Gives each operation a context of its own: a WebSocket carries many operations, each with its own loaders."""

    def on_operation(self) -> Iterator[None]:
        context = self.execution_context.context = self.execution_context.context.context()
        try:
            yield
        finally:
            context.load.close()


#: What Strawberry refuses in words of its own; streams tell them as errors, other answers as a status.
_REFUSALS = (MissingQueryError, CannotGetOperationTypeError, InvalidOperationTypeError)


def _of_a_variable(error: GraphQLError) -> bool:
    """A value that its variable's type refuses carries the scalar's exception, and is the client's own affair."""
    return error.path is None and any(isinstance(node, VariableDefinitionNode) for node in error.nodes or ())


def _is_unexpected(error: GraphQLError) -> bool:
    original = error.original_error
    return original is not None and not isinstance(original, _REFUSALS) and not _of_a_variable(error)


class HideUnexpectedErrors(MaskErrors):
    """Expected errors keep their message and get a code; others are logged with an id, and only the id is told."""

    def __init__(self) -> None:
        super().__init__(_is_unexpected)

    def on_operation(self) -> Iterator[None]:
        try:
            yield from super().on_operation()
        except (GraphQLError, *_REFUSALS):
            raise
        except Exception as error:
            # What fails outside of a resolver would be told with its own words.
            raise self.anonymise_error(GraphQLError(str(error), original_error=error)) from None

    def anonymise_error(self, error: GraphQLError) -> GraphQLError:
        original = error.original_error
        if isinstance(original, ExpectedError):
            extensions: dict[str, object] = {"code": original.code}
            if isinstance(original, InvalidInputError):
                extensions["field"] = list(original.field)
            return GraphQLError(original.message, nodes=error.nodes, path=error.path, extensions=extensions)
        error_id = uuid.uuid4().hex
        log.error("graphql_error", error_id=error_id, path=error.path, exc_info=original)
        return GraphQLError(
            f"Something went wrong on our side. It is logged as {error_id}.",
            nodes=error.nodes,
            path=error.path,
            extensions={"code": "INTERNAL", "errorId": error_id},
        )


class CheckOnce(SchemaExtension):
    """Takes a document as it was parsed and found valid before: both take longer than answering a small operation.

    For all others, limits come before the rules of validation, of which some take long for what asks too much.
    """

    def __init__(self, documents: Documents) -> None:
        self._documents = documents
        self._known = False

    def on_parse(self) -> Iterator[None]:
        context = self.execution_context
        if context.query and (node := self._documents.find(context.query).node):
            context.graphql_document = node
            self._known = True
        yield

    def on_validate(self) -> Iterator[None]:
        refused = self._refusals()
        if refused or self._known:
            self.execution_context.pre_execution_errors = refused
        yield

    def _refusals(self) -> list[GraphQLError]:
        context = self.execution_context
        document, variables = context.graphql_document, context.variables or {}
        assert document is not None
        if not self._known and (refused := refusals_of_document(document)):
            return refused
        operation = get_operation_ast(document, context.operation_name)
        if operation is None:
            return []  # several without a name to choose by, of which none will be executed
        cost = cost_of(context.schema._schema, document, operation)
        return [one for one in (refusal_of_variables(variables), cost.refusal(variables)) if one]


#: Made anew for each operation: an extension keeps the operation's state.
EXTENSIONS: list[Callable[[], SchemaExtension]] = [
    OperationContext,
    HideUnexpectedErrors,
    lambda: MaxTokensLimiter(MOST_TOKENS),
]
