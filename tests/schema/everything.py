"""Texts made from the schema itself, so that a field added later is asked for too."""

from collections.abc import Iterator, Mapping
from typing import Any

from graphql import (
    GraphQLField,
    GraphQLInputObjectType,
    GraphQLNamedType,
    GraphQLObjectType,
    GraphQLUnionType,
    get_named_type,
    get_nullable_type,
    is_leaf_type,
    is_list_type,
    is_required_argument,
)

from schema.graph import graph
from tests.schema.world import World

SCHEMA = graph._schema


def fields_of(operation: str) -> dict[str, GraphQLField]:
    kind = SCHEMA.type_map[operation]
    assert isinstance(kind, GraphQLObjectType)
    return dict(kind.fields)


def selection(kind: GraphQLNamedType, depth: int) -> str:
    """Every field of `kind` that needs no argument, down to `depth` levels."""
    if isinstance(kind, GraphQLUnionType):
        spread = " ".join(f"... on {member.name} {_object(member, depth)}" for member in kind.types)
        return f"{{ __typename {spread} }}"
    if isinstance(kind, GraphQLObjectType):
        return _object(kind, depth)
    return "{ __typename id }"


def _object(kind: GraphQLObjectType, depth: int) -> str:
    selected = ["__typename"]
    for name, field in kind.fields.items():
        named = get_named_type(field.type)
        if any(is_required_argument(argument) for argument in field.args.values()):
            continue
        if is_leaf_type(named):
            selected.append(name)
        elif depth:
            selected.append(f"{name} {selection(named, depth - 1)}")
    return f"{{ {' '.join(selected)} }}"


def id_arguments(operation: str) -> Iterator[tuple[str, str]]:
    """Each (field, argument) of the operation that takes an id."""
    for name, field in fields_of(operation).items():
        for argument, value in field.args.items():
            if get_named_type(value.type).name == "ID" and not is_list_type(get_nullable_type(value.type)):
                yield name, argument


def id_inputs(operation: str) -> Iterator[tuple[str, str, str]]:
    """Each (field, argument, member) of the operation whose argument is an input with an id in it."""
    for name, field in fields_of(operation).items():
        for argument, value in field.args.items():
            kind = get_named_type(value.type)
            if isinstance(kind, GraphQLInputObjectType):
                for member, inner in kind.fields.items():
                    if get_named_type(inner.type).name == "ID":
                        yield name, argument, member


def valid_inputs(world: World) -> dict[str, Any]:
    """A value for each member of the mutations' inputs, all of `world`; a new member needs one here."""
    (queued,) = [run for run in world.runs if run.row.status == "queued"]
    return {
        "slug": "made-by-mutation",
        "name": "MADE_BY_MUTATION",
        "environmentId": str(world.environments[0].id),
        "manifest": {"task": "t", "world": {"command": ["w"]}, "evaluator": {"command": ["e"]}},
        "bundleSha256": None,
        "attemptCount": 2,
        "agentCommand": ["agent"],
        "environmentVersionId": str(world.versions[0].id),
        "evaluatorConfigurationId": str(world.configurations[0].id),
        "seed": "5",
        "mode": "NEW_WORKSPACE",
        "evaluationRunId": str(queued.row.id),
        "count": 1,
        "email": "new@example.org",
        "role": "VIEWER",
        "memberId": str(world.members[-1].id),
        "apiTokenId": str(world.tokens[-1].id),
        "days": 30,
        "secrets": [],
        "value": "a value of eight",
        "clientMutationId": None,
    }


def mutation(name: str, given: Mapping[str, Any], depth: int = 0) -> tuple[str, dict[str, Any]]:
    """The text and the variables of a mutation, with every member of its input taken from `given`."""
    field = fields_of("Mutation")[name]
    kind = get_named_type(field.args["input"].type)
    assert isinstance(kind, GraphQLInputObjectType)
    text = f"mutation($input: {kind.name}!) {{ {name}(input: $input) {selection(get_named_type(field.type), depth)} }}"
    return text, {"input": {member: given[member] for member in kind.fields}}
