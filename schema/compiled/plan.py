"""Turns the selections of an operation into a plan, reading from the schema where each field comes from."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from functools import partial
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

from db.json_lists import Shown, Template, list_projection
from db.query import Column, Projection, Query
from resolvers.loaders import Many
from schema.compiled.children import EdgeChild, FoundField, ObjectsChild, ReportChild
from schema.compiled.connections import CURSOR_COLUMNS, Asked, ConnectionField
from schema.compiled.execution import Arguments, Execution, Projections
from schema.compiled.selections import CannotCompileError, Selections
from schema.compiled.shape import Shape
from schema.compiled.values import Entry, as_object, is_stored, is_text, json_objects, json_text, scalar, shown
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
            return FoundField(source, arguments, shape, Projections.of(shape.columns))
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
        entries: list[Entry],
    ) -> None:
        for key, nodes in self.selections.fields(on, selection_sets).items():
            if nodes[0].name.value == "__typename":
                entries.append(_typename(key, on))
            else:
                entries.append(Entry(key, self._expression(shape, on, nodes), self._text(on, nodes)))

    def _text(self, on: GraphQLObjectType, nodes: list[FieldNode]) -> Template | None:
        """JSON text of the field as the database makes it; None where it must be made here."""
        definition, field = self._field(on, nodes[0])
        match source_of(field):
            case None if field.base_resolver is None:
                return shown(definition.type, field.python_name)
            case Stored(column, of) if of is None or is_stored(
                self._stored(definition, nodes), list(_object_type(definition).fields)
            ):
                return (Shown(column, "json", is_non_null_type(definition.type)),)
        return None

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
        made = json_objects(self._stored(definition, nodes), list(on.fields), on.name)
        return f"{shape.names.add(made)}({shape.column(column)})"

    def _stored(self, definition: GraphQLField, nodes: list[FieldNode]) -> list[tuple[str, str | None]]:
        """The response keys asked of stored objects, each with the key that it shows, or None for the type's name."""
        selected = self.selections.fields(_object_type(definition), (node.selection_set for node in nodes))
        names = [(key, found[0].name.value) for key, found in selected.items()]
        return [(key, None if name == "__typename" else name) for key, name in names]

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
        projections, lists = Projections.of(keyed.columns), keyed.text is not None and isinstance(source.edge, Many)
        if keyed.text is not None and lists:
            projections = Projections(partial(list_projection, template=keyed.text, key=source.edge.key))
        child = EdgeChild(source.edge, keyed, projections, required, lists)
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
        cursor: list[Column] = []
        asked_of_page = {name for one in page_info.values() for _, name in one}
        if edge_cursors or asked_of_page & {"startCursor", "endCursor"}:
            columns = {one.name for one in fields(cast("Any", _row_class(_object_type(on.fields["edges"]))))}
            cursor = [Column(name, text=name == "id") for name in CURSOR_COLUMNS if name in columns]
        positions = {column.name: edge.position(column) for column in cursor}
        edge.compile()
        projections = Projections.of(edge.columns)
        if lists := bool(seen) and not edge_cursors and edge.text is not None:
            positions = {column.name: number for number, column in enumerate(cursor)}
            projections = Projections(partial(_list_projection, source, edge.text, cursor))
        what = Asked(on.name, names, page_info, edge, edge_cursors, positions, lists)
        return ConnectionField(source, arguments, what, projections)

    def _edges(self, edge: Shape, on: GraphQLObjectType, nodes: Sequence[FieldNode]) -> list[str]:
        """Adds the entries of an edge; gives the response keys of its cursors, whose values are put in later."""
        cursors: list[str] = []
        for key, found in self.selections.fields(on, (node.selection_set for node in nodes)).items():
            name = found[0].name.value
            if name == "node":
                entries: list[Entry] = []
                node = _object_type(on.fields["node"])
                self._entries(edge, node, (one.selection_set for one in found), entries)
                edge.entries.append(Entry(key, *as_object(entries)))
            elif name == "cursor":
                cursors.append(key)
                edge.entries.append(Entry(key, "None"))
            else:
                edge.entries.append(_typename(key, on))
        return cursors


def _typename(key: str, on: GraphQLObjectType) -> Entry:
    return Entry(key, repr(on.name), (f'"{on.name}"',))


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


def _list_projection(source: Listed, template: Template, cursor: Sequence[Column], query: Query[Any]) -> Projection:
    listing = source.listing()
    key = listing.rows.key if isinstance(listing.rows, Many) else None
    return list_projection(query, template, key=key, cursor=cursor, limit=len(listing.row_arguments()))
