"""What every mutation has in common: who may ask for it, what may be expected to go wrong, and being asked again."""

import hashlib
import json
from collections.abc import Awaitable, Callable
from typing import Any, Final

import strawberry
from strawberry.extensions import FieldExtension

from db.errors import ConflictError, ExpectedError, ForbiddenError
from db.tenant import Joined
from resolvers.context import Context
from resolvers.idempotency import Key, Once, check_key, once
from resolvers.loaders import One
from schema.info import Info
from schema.member_role import MemberRole
from schema.problems import problem_of

EDITORS: Final = (MemberRole.OWNER, MemberRole.MEMBER)
OWNERS: Final = (MemberRole.OWNER,)


@strawberry.input
class Repeatable:
    client_mutation_id: str | None = strawberry.field(
        default=None, description="Asked again with the same one within a day, nothing more is changed."
    )

    def asked(self, context: Context) -> dict[str, object]:
        """What tells this request from another under the same key; a digest of it is stored."""
        return {name: value for name, value in vars(self).items() if name != "client_mutation_id"}


class ChangeField(FieldExtension):
    """Lets the roles in `allowed` change something; `result` is the edge by which its result is found again.

    Expected errors of the resolver become the problems of its union.
    """

    def __init__(self, allowed: tuple[MemberRole, ...], result: One[Any]) -> None:
        self.allowed = allowed
        self.result = result

    async def resolve_async(
        self, next_: Callable[..., Awaitable[Any]], source: Any, info: strawberry.Info, **arguments: Any
    ) -> object:
        context: Context = info.context
        try:
            self._check_role(context.identity.role)
            key = _key(info, arguments["input"])
            if key is None:
                result = await next_(source, info, **arguments)
            else:
                async with once(context.tenant, key) as change:
                    result = await self._once(change, context, lambda: next_(source, info, **arguments))
        except ExpectedError as error:
            return problem_of(error)
        # A document may hold several mutations: each shows what is there after it.
        context.refresh()
        return result

    def _check_role(self, role: str) -> None:
        allowed = [one.value for one in self.allowed]
        if role not in allowed:
            raise ForbiddenError(f"A {role} may not do this; it takes {' or '.join(allowed)}.")

    async def _once(self, change: Once, context: Context, make: Callable[[], Awaitable[Any]]) -> object:
        if change.earlier is not None:
            (row,) = await change.transaction.fetch(self.result.query, [change.earlier]) or [None]
            if row is None:
                raise ConflictError("This change was made before, and what it made is there no more.")
            return row
        tenant = context.tenant
        context.tenant = Joined(tenant.pool, tenant.organization_id, change.transaction)
        try:
            result = await make()
        finally:
            context.tenant = tenant
            context.refresh()  # loaders may hold the transaction
        change.result = result.id
        return result


def change(allowed: tuple[MemberRole, ...], result: One[Any], description: str | None = None) -> Any:
    """Declares a mutation: the roles that may ask for it, and the edge by which what it made is found again.

    A change with a key (`clientMutationId`, or an Idempotency-Key header for each mutation of a request) is made once:
    for a day the same person or token is given what it made, and another input under the key is a conflict.
    """
    return strawberry.mutation(extensions=[ChangeField(allowed, result)], description=description)


def _key(info: Info, given: Repeatable) -> Key | None:
    """Raises InvalidInputError for what can be no key."""
    context = info.context
    if given.client_mutation_id is not None:
        text = f"clientMutationId {check_key(given.client_mutation_id, 'clientMutationId')}"
    elif context.idempotency_key is not None:
        # Several mutations of one request are several changes.
        text = f"Idempotency-Key {check_key(context.idempotency_key)} {info.path.key}"
    else:
        return None
    request = json.dumps([info.field_name, given.asked(context)], sort_keys=True, default=str)
    return Key(context.identity.subject_id, text, hashlib.sha256(request.encode()).digest())
