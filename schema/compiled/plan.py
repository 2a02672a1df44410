"""Turns the selections of an operation into a plan, reading from the schema where each field comes from."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from typing import Any, cast

import strawberry
from graphql import (
    FieldNode,
    GraphQLField,
    GraphQLObjectType,
    GraphQLSchema,
    OperationDefinitionNode,
    SelectionSetNode,
    get_named_type,
    get_nullable_type,
    is_list_type,
    is_non_null_type,
    is_object_type,
)
from strawberry.types.base import StrawberryObjectDefinition
from strawberry.types.field import StrawberryField

from db.query import Column
from resolvers.loaders import Many
from schema.compiled.children import EdgeChild, FoundField, ObjectsChild, ReportChild
from schema.compiled.connections import CURSOR_COLUMNS, Asked, ConnectionField
from schema.compiled.execution import Arguments, Execution, Projections
from schema.compiled.selections import CannotCompileError, Selections
from schema.compiled.shape import Shape
from schema.compiled.values import is_text, json_objects, json_text, scalar
from schema.sources import Computed, Edge, Found, Listed, Stored, source_of


@dataclass(frozen=True, slots=True)
class Plan:
    """An operation ready to be executed: each response key with its field, or with the name of the root type."""

    roots: list[tuple[str, FoundField | ConnectionField | str]]

    async def execute(self, execution: Execution) -> dict[str, Any]:
        """The data of the answer. Raises whatever stands in the way; nothing has been changed then."""
        return {key: root if isinstance(root, str) else await root.answer(execution) for key, root in self.roots}


@dataclass(frozen=True, slots=True)
class Planner:
    """Plans one operation of a schema."""

    schema: strawberry.Schema
    selections: Selections

    @property
    def _graph(self) -> GraphQLSchema:
        return self.schema._schema

    def plan(self, operation: OperationDefinitionNode) -> Plan:
        """Raises CannotCompileError for what takes Strawberry's executor."""
        root = self._graph.query_type
        assert root is not None
        selected = self.selections.fields(root, [operation.selection_set])
        return Plan([(key, self._root(root, nodes)) for key, nodes in selected.items()])

    def _root(self, root: GraphQLObjectType, nodes: list[FieldNode]) -> FoundField | ConnectionField | str:
        if nodes[0].name.value == "__typename":
            return root.name
        definition, field = self._field(root, nodes[0])
        source, arguments = source_of(field), Arguments(self.schema, definition, field, nodes[0])
        if isinstance(source, Found):
            shape = self._keyed(source.edge.key, definition, nodes)
            return FoundField(source, arguments, shape, Projections(tuple(shape.columns)))
        if isinstance(source, Listed):
            return self._connection(source, arguments, definition, nodes, Shape())
        raise CannotCompileError(f"field {field.python_name}")

    def _field(self, on: GraphQLObjectType, node: FieldNode) -> tuple[GraphQLField, StrawberryField]:
        definition = on.fields.get(node.name.value)
        if definition is None:
            raise CannotCompileError(f"field {node.name.value}")
        return definition, definition.extensions["strawberry-definition"]

    def _keyed(self, key: str, definition: GraphQLField, nodes: list[FieldNode]) -> Shape:
        """The shape of the field's objects, whose first column is the key that they are found by."""
        shape = Shape()
        shape.position(Column(key, text=True))
        self._entries(shape, _object_type(definition), (node.selection_set for node in nodes), shape.entries)
        return shape.compile()

    def _entries(
        self,
        shape: Shape,
        on: GraphQLObjectType,
        selection_sets: Iterable[SelectionSetNode | None],
        entries: list[tuple[str, str]],
    ) -> None:
        for key, nodes in self.selections.fields(on, selection_sets).items():
            if nodes[0].name.value == "__typename":
                entries.append((key, repr(on.name)))
            else:
                entries.append((key, self._expression(shape, on, nodes)))

    def _expression(self, shape: Shape, on: GraphQLObjectType, nodes: list[FieldNode]) -> str:
        definition, field = self._field(on, nodes[0])
        match source_of(field):
            case None if field.base_resolver is None:
                return self._column(shape, definition, field.python_name, nodes)
            case Stored(column, None):
                return json_text(definition.type, shape.column(column), shape.names)
            case Stored(column, _):
                return self._stored_objects(shape, column, definition, nodes)
            case Computed() as source:
                return self._computed(shape, source, definition, nodes)
            case Edge() as source:
                return self._edge(shape, source, definition, nodes)
            case Listed(_, str(key)) as source:
                keyed = Shape()
                keyed.position(Column(_listing_key(source), text=True))
                arguments = Arguments(self.schema, definition, field, nodes[0])
                child = self._connection(source, arguments, definition, nodes, keyed)
                position = shape.position(Column(key, text=True))
                return f"{shape.child(position, child)}(c{position})"
        raise CannotCompileError(f"field {field.python_name}")

    def _column(self, shape: Shape, definition: GraphQLField, name: str, nodes: list[FieldNode]) -> str:
        if not is_object_type(get_named_type(definition.type)):
            return scalar(definition.type, shape.column(name, text=is_text(definition.type)), shape.names)
        if not is_list_type(get_nullable_type(definition.type)):
            raise CannotCompileError(f"field {name}")
        inner = Shape()
        self._entries(inner, _object_type(definition), (node.selection_set for node in nodes), inner.entries)
        position = shape.position(Column(name))
        return f"{shape.child(position, ObjectsChild(inner.compile()))}(c{position})"

    def _stored_objects(self, shape: Shape, column: str, definition: GraphQLField, nodes: list[FieldNode]) -> str:
        on = _object_type(definition)
        selected = self.selections.fields(on, (node.selection_set for node in nodes))
        names = [(key, found[0].name.value) for key, found in selected.items()]
        keys = [(key, None if name == "__typename" else name) for key, name in names]
        return f"{shape.names.add(json_objects(keys, list(on.fields), on.name))}({shape.column(column)})"

    def _computed(self, shape: Shape, source: Computed, definition: GraphQLField, nodes: list[FieldNode]) -> str:
        columns = ", ".join(shape.column(column) for column in source.columns)
        value = f"{shape.names.add(source.function)}({columns})"
        if not is_object_type(get_named_type(definition.type)):
            return scalar(definition.type, value, shape.names, made_text=False)
        inner = Shape()
        self._entries(inner, _object_type(definition), (node.selection_set for node in nodes), inner.entries)
        if inner.children or not inner.columns:
            raise CannotCompileError("objects that are computed and lead on")
        flat = shape.names.add(inner.compile().generated["flat"])
        return f"{flat}({shape.names.add(inner.rows_of)}({value}))"

    def _edge(self, shape: Shape, source: Edge, definition: GraphQLField, nodes: list[FieldNode]) -> str:
        position = shape.position(Column(source.key, text=True))
        if source.of is not None:
            inner = Shape()
            self._entries(inner, _object_type(definition), (node.selection_set for node in nodes), inner.entries)
            return f"{shape.child(position, ReportChild(source, inner.compile()))}(c{position})"
        keyed = self._keyed(source.edge.key, definition, nodes)
        required = is_non_null_type(definition.type)
        child = EdgeChild(source.edge, keyed, Projections(tuple(keyed.columns)), required)
        found = f"{shape.child(position, child)}(c{position})"
        return f"({found} or [])" if isinstance(source.edge, Many) else found

    def _connection(
        self, source: Listed, arguments: Arguments, definition: GraphQLField, nodes: list[FieldNode], edge: Shape
    ) -> ConnectionField:
        on = _object_type(definition)
        selected = self.selections.fields(on, (node.selection_set for node in nodes))
        names = [(key, found[0].name.value) for key, found in selected.items()]
        edge_cursors: list[str] = []
        page_info: dict[str, list[tuple[str, str]]] = {}
        seen: list[str] = []
        for key, name in names:
            if name == "edges":
                if seen:
                    raise CannotCompileError("edges under two names")
                seen.append(key)
                edge_cursors = self._edges(edge, _object_type(on.fields["edges"]), selected[key])
            elif name == "pageInfo":
                on_page = _object_type(on.fields["pageInfo"])
                asked = self.selections.fields(on_page, (node.selection_set for node in selected[key]))
                page_info[key] = [(one, found[0].name.value) for one, found in asked.items()]
        positions: dict[str, int] = {}
        asked_of_page = {name for one in page_info.values() for _, name in one}
        if edge_cursors or asked_of_page & {"startCursor", "endCursor"}:
            columns = {one.name for one in fields(cast("Any", _row_class(_object_type(on.fields["edges"]))))}
            positions = {
                name: edge.position(Column(name, text=name == "id")) for name in CURSOR_COLUMNS if name in columns
            }
        what = Asked(on.name, names, page_info, edge.compile(), edge_cursors, positions)
        return ConnectionField(source, arguments, what, Projections(tuple(edge.columns)))

    def _edges(self, edge: Shape, on: GraphQLObjectType, nodes: Sequence[FieldNode]) -> list[str]:
        """Adds the entries of an edge; gives the response keys of its cursors, whose values are put in later."""
        cursors: list[str] = []
        for key, found in self.selections.fields(on, (node.selection_set for node in nodes)).items():
            name = found[0].name.value
            if name == "node":
                entries: list[tuple[str, str]] = []
                node = _object_type(on.fields["node"])
                self._entries(edge, node, (one.selection_set for one in found), entries)
                inner = ", ".join(f"{response!r}: {expression}" for response, expression in entries)
                edge.entries.append((key, "{" + inner + "}"))
            elif name == "cursor":
                cursors.append(key)
                edge.entries.append((key, "None"))
            else:
                edge.entries.append((key, repr(on.name)))
        return cursors


def _object_type(definition: GraphQLField) -> GraphQLObjectType:
    named = get_named_type(definition.type)
    if not is_object_type(named):
        raise CannotCompileError(f"type {named}")
    return named


def _row_class(edge: GraphQLObjectType) -> type[object]:
    node = _object_type(edge.fields["node"])
    definition: StrawberryObjectDefinition = node.extensions["strawberry-definition"]
    row: type[object] = cast("Any", definition.origin).row
    return row


def _listing_key(source: Listed) -> str:
    """The column of a listing's rows that names their parent; the same whatever the arguments are."""
    rows = source.listing().rows
    assert isinstance(rows, Many)
    return rows.key
