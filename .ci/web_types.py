"""Writes web/graph.d.ts: what each operation in web/ takes and gives, read from its document and the schema.

Documents stand in the modules as graphql`...`, each in a constant; ${NAME} puts in the fragment in that constant.
"""

import re
from collections.abc import Iterator
from pathlib import Path

from graphql import (
    DocumentNode,
    FieldNode,
    FragmentDefinitionNode,
    FragmentSpreadNode,
    GraphQLEnumType,
    GraphQLInputObjectType,
    GraphQLNamedType,
    GraphQLObjectType,
    GraphQLSchema,
    GraphQLType,
    InlineFragmentNode,
    OperationDefinitionNode,
    SelectionSetNode,
    build_schema,
    get_named_type,
    get_nullable_type,
    is_abstract_type,
    is_leaf_type,
    is_list_type,
    is_non_null_type,
    is_required_input_field,
    parse,
    type_from_ast,
)

ROOT = Path(__file__).parents[1]
WEB = ROOT / "web"
TYPES = WEB / "graph.d.ts"
SCALARS = {"ID": "string", "String": "string", "DateTime": "string", "BigInt": "string", "JSON": "any"}
SCALARS |= {"Int": "number", "Float": "number", "Boolean": "boolean"}

_DOCUMENT = re.compile(r"const (\w+) =[^;`]*graphql`([^`]*)`")
_PLACE = re.compile(r"\$\{(\w+)\}")


def documents() -> dict[str, str]:
    """Each operation's whole document, by the name of its constant. Raises KeyError for an unknown fragment."""
    modules = [path for path in sorted(WEB.rglob("*.js")) if "vendor" not in path.parts]
    found = [pair for path in modules for pair in _DOCUMENT.findall(path.read_text("utf-8"))]
    texts = dict(found)
    assert len(texts) == len(found), f"two documents have one name: {sorted(name for name, _ in found)}"

    def whole(text: str) -> str:
        return _PLACE.sub(lambda place: whole(texts[place[1]]), text)

    return {name: whole(text) for name, text in texts.items() if re.match(r"\s*(query|mutation|subscription)", text)}


class Types:
    """TypeScript for one document."""

    def __init__(self, schema: GraphQLSchema, document: DocumentNode) -> None:
        self.schema = schema
        self.fragments = {
            one.name.value: one for one in document.definitions if isinstance(one, FragmentDefinitionNode)
        }

    def result(self, operation: OperationDefinitionNode) -> str:
        root = self.schema.get_root_type(operation.operation)
        assert root is not None
        return self._object(root, [operation.selection_set])

    def variables(self, operation: OperationDefinitionNode) -> str:
        parts = []
        for variable in operation.variable_definitions or ():
            taken = type_from_ast(self.schema, variable.type)
            assert taken is not None
            optional = not is_non_null_type(taken) or variable.default_value is not None
            parts.append(f"{variable.variable.name.value}{'?' if optional else ''}: {_input(taken)}")
        return "{ " + "; ".join(parts) + " }" if parts else "Record<string, never>"

    def _fields(self, on: GraphQLObjectType, selected: SelectionSetNode) -> Iterator[FieldNode]:
        for one in selected.selections:
            if isinstance(one, FieldNode):
                yield one
            elif isinstance(one, FragmentSpreadNode):
                fragment = self.fragments[one.name.value]
                yield from self._conditioned(on, fragment.type_condition.name.value, fragment.selection_set)
            elif isinstance(one, InlineFragmentNode):
                condition = one.type_condition.name.value if one.type_condition else on.name
                yield from self._conditioned(on, condition, one.selection_set)

    def _conditioned(self, on: GraphQLObjectType, condition: str, selected: SelectionSetNode) -> Iterator[FieldNode]:
        named = self.schema.get_type(condition)
        applies = named is on or (is_abstract_type(named) and self.schema.is_sub_type(named, on))
        if applies:
            yield from self._fields(on, selected)

    def _object(self, on: GraphQLObjectType, selections: list[SelectionSetNode]) -> str:
        named: dict[str, list[FieldNode]] = {}
        for selected in selections:
            for node in self._fields(on, selected):
                named.setdefault(node.alias.value if node.alias else node.name.value, []).append(node)
        # What a directive leaves out is not there at all.
        parts = [f"{key}{'?' if nodes[0].directives else ''}: {self._field(on, nodes)}" for key, nodes in named.items()]
        return "{ " + "; ".join(parts) + " }"

    def _field(self, on: GraphQLObjectType, nodes: list[FieldNode]) -> str:
        if nodes[0].name.value == "__typename":
            return f'"{on.name}"'
        return self._output(
            on.fields[nodes[0].name.value].type, [one.selection_set for one in nodes if one.selection_set]
        )

    def _output(self, given: GraphQLType, selections: list[SelectionSetNode]) -> str:
        nullable = get_nullable_type(given)
        if is_list_type(nullable):
            text = f"({self._output(nullable.of_type, selections)})[]"
        elif is_leaf_type(nullable):
            text = _leaf(nullable)
        elif is_abstract_type(nullable):
            possible = sorted(self.schema.get_possible_types(nullable), key=lambda one: one.name)
            text = " | ".join(dict.fromkeys(self._object(one, selections) for one in possible))
        else:
            text = self._object(nullable, selections)
        return text if is_non_null_type(given) else f"{text} | null"


def _leaf(leaf: GraphQLNamedType) -> str:
    if isinstance(leaf, GraphQLEnumType):
        return " | ".join(f'"{name}"' for name in leaf.values)
    return SCALARS[leaf.name]


def _input(given: GraphQLType) -> str:
    nullable = get_nullable_type(given)
    if is_list_type(nullable):
        text = f"({_input(nullable.of_type)})[]"
    elif isinstance(nullable, GraphQLInputObjectType):
        fields = nullable.fields.items()
        parts = [f"{n}{'' if is_required_input_field(one) else '?'}: {_input(one.type)}" for n, one in fields]
        text = "{ " + "; ".join(parts) + " }"
    else:
        text = _leaf(get_named_type(nullable))
    return text if is_non_null_type(given) else f"{text} | null"


def typed() -> str:
    schema = build_schema((ROOT / "schema" / "schema.graphql").read_text("utf-8"))
    lines = [
        "// Written by `just generate` from the documents in web/ and the schema.",
        "",
        "export interface Operations {",
    ]
    for text in documents().values():
        document = parse(text)
        types = Types(schema, document)
        (operation,) = [one for one in document.definitions if isinstance(one, OperationDefinitionNode)]
        assert operation.name is not None
        lines += [f"  {operation.name.value}: {{", f"    variables: {types.variables(operation)};"]
        lines += [f"    result: {types.result(operation)};", "  };"]
    return "\n".join([*lines, "}", ""])


if __name__ == "__main__":
    TYPES.write_text(typed(), "utf-8")
