"""How many objects an operation may return at most, known before anything is looked up.

Connections, edges and page infos count nothing beside the nodes that they bring. Each level multiplies: a page by its
`first`, any other list by eight, which is the most attempts that a run has. What is asked for twice, skipped or
included by a directive, or on a type that is another one in the end, counts all the same.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from graphql import (
    DocumentNode,
    FieldNode,
    FragmentDefinitionNode,
    FragmentSpreadNode,
    GraphQLError,
    GraphQLField,
    GraphQLInterfaceType,
    GraphQLNamedType,
    GraphQLObjectType,
    GraphQLSchema,
    InlineFragmentNode,
    IntValueNode,
    OperationDefinitionNode,
    SelectionNode,
    SelectionSetNode,
    ValueNode,
    VariableNode,
    get_named_type,
    get_nullable_type,
    is_leaf_type,
    is_list_type,
)

from resolvers.pages import DEFAULT_SIZE, LARGEST_SIZE
from schema.limits import MOST_NODES, too_much

#: Of a list that has no pages: the attempts of a run, values of k, and as many as there are stages, mostly.
LIST_SIZE: Final = 8


@dataclass(frozen=True, slots=True)
class Times:
    """How often something is returned: a number, or what a variable says."""

    number: int = 1
    variable: str | None = None

    def __call__(self, given: Mapping[str, Any]) -> int:
        if self.variable is None:
            return self.number
        return _size(given.get(self.variable, self.number))


def _size(first: object) -> int:
    """Of the page that is asked for; what no page can have is refused when it is used."""
    # 500.0 is an Int too, where it comes in a variable.
    whole = isinstance(first, int) or (isinstance(first, float) and first.is_integer())
    return int(min(max(first, 0), LARGEST_SIZE)) if whole else DEFAULT_SIZE  # type: ignore[call-overload]


def _literal(value: ValueNode | None) -> int:
    # Longer ones are no GraphQL Int, and Python refuses to read the longest.
    return _size(int(value.value[:9])) if isinstance(value, IntValueNode) else DEFAULT_SIZE


@dataclass(frozen=True, slots=True)
class Cost:
    """Objects that are known to be at most so many, and those that variables decide about."""

    known: int = 0
    varying: tuple[tuple[Times, "Cost"], ...] = ()

    def __add__(self, other: "Cost") -> "Cost":
        return Cost(self.known + other.known, (*self.varying, *other.varying))

    def times(self, times: Times) -> "Cost":
        if times.variable is None and not self.varying:
            return Cost(self.known * times.number)
        return Cost(0, ((times, self),))

    def nodes(self, given: Mapping[str, Any]) -> int:
        """The number with these variables."""
        return self._nodes(given, {}) if self.varying else self.known

    def _nodes(self, given: Mapping[str, Any], summed: dict[int, int]) -> int:
        # Fragments are shared: each is summed once, however often it is spread.
        if id(self) not in summed:
            total = self.known
            for times, cost in self.varying:
                total += times(given) * (cost._nodes(given, summed) if cost.varying else cost.known)
            summed[id(self)] = total
        return summed[id(self)]

    def refusal(self, given: Mapping[str, Any]) -> GraphQLError | None:
        """The error for an operation that may return too much with these variables."""
        nodes = self.nodes(given)
        if nodes <= MOST_NODES:
            return None
        message = (
            f"The operation may return {nodes:,} objects; at most {MOST_NODES:,} are allowed. "
            "Ask for smaller pages with `first`, above all where one is within another."
        )
        return too_much("objects", nodes, MOST_NODES, message)


def _rows_alone(connection: FieldNode) -> Cost:
    """Rows are read also where only `pageInfo` is asked for; to count them all takes no rows."""
    selections = connection.selection_set.selections if connection.selection_set else ()
    names = {one.name.value if isinstance(one, FieldNode) else "..." for one in selections}
    return Cost(0 if "edges" in names or not names & {"pageInfo", "..."} else 1)


@dataclass(slots=True)
class _Counting:
    schema: GraphQLSchema
    fragments: dict[str, FragmentDefinitionNode]
    defaults: dict[str, int]
    known: dict[str, Cost] = field(default_factory=dict)

    def selections(self, on: GraphQLNamedType | None, selected: SelectionSetNode | None) -> Cost:
        total = Cost()
        for selection in selected.selections if selected else ():
            total += self._selection(on, selection)
        return total

    def _selection(self, on: GraphQLNamedType | None, selection: SelectionNode) -> Cost:
        match selection:
            case FieldNode(name=name) if isinstance(on, GraphQLObjectType | GraphQLInterfaceType):
                # Another rule refuses unknown fields; here they add nothing, and neither does introspection.
                definition = on.fields.get(name.value)
                return self._field(on, definition, selection) if definition else Cost()
            case InlineFragmentNode(type_condition=condition, selection_set=selected):
                return self.selections(self.schema.get_type(condition.name.value) if condition else on, selected)
            case FragmentSpreadNode(name=name):
                return self._fragment(name.value).times(Times())
        return Cost()

    def _field(self, on: GraphQLNamedType, definition: GraphQLField, node: FieldNode) -> Cost:
        named = get_named_type(definition.type)
        if is_leaf_type(named):
            return Cost()
        below = self.selections(named, node.selection_set)
        if "first" in definition.args:
            return (below + _rows_alone(node)).times(self._page(node))
        if named.name.endswith("Edge"):
            return below + Cost(1)  # also where its node is not asked for
        if on.name.endswith("Edge") or named.name.endswith(("Connection", "PageInfo")):
            return below
        listed = is_list_type(get_nullable_type(definition.type))
        return (below + Cost(1)).times(Times(LIST_SIZE if listed else 1))

    def _page(self, node: FieldNode) -> Times:
        value: ValueNode | None = next((one.value for one in node.arguments or () if one.name.value == "first"), None)
        if isinstance(value, VariableNode):
            return Times(self.defaults.get(value.name.value, DEFAULT_SIZE), value.name.value)
        return Times(_literal(value))

    def _fragment(self, name: str) -> Cost:
        if name not in self.known:
            self.known[name] = Cost()
            if fragment := self.fragments.get(name):
                on = self.schema.get_type(fragment.type_condition.name.value)
                self.known[name] = self.selections(on, fragment.selection_set)
        return self.known[name]


def cost_of(schema: GraphQLSchema, document: DocumentNode, operation: OperationDefinitionNode) -> Cost:
    """The cost of an operation of a document that is within the other limits."""
    fragments = {one.name.value: one for one in document.definitions if isinstance(one, FragmentDefinitionNode)}
    defaults = {one.variable.name.value: _literal(one.default_value) for one in operation.variable_definitions or ()}
    root = schema.get_root_type(operation.operation)
    return _Counting(schema, fragments, defaults).selections(root, operation.selection_set)
