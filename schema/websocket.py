"""graphql-transport-ws, as strict about messages as about documents."""

import uuid
from collections.abc import Mapping
from typing import Any, Final

import structlog
from starlette.websockets import WebSocketDisconnect
from strawberry.asgi import ASGIWebSocketAdapter
from strawberry.http.exceptions import WebSocketDisconnected
from strawberry.subscriptions.protocols.graphql_transport_ws.handlers import BaseGraphQLTransportWSHandler
from strawberry.subscriptions.protocols.graphql_transport_ws.types import Message, SubscribeMessage

from resolvers.context import Session
from schema.limits import MOST_OPERATIONS, too_much

_MOST_REASON: Final = 123

log = structlog.get_logger()


class TextFrames(ASGIWebSocketAdapter):
    """graphql-transport-ws is text: browsers hand bytes to their clients as a Blob, which these cannot parse."""

    async def close(self, code: int, reason: str) -> None:
        # A frame that closes holds no more, and the reason may repeat what a client has sent.
        await super().close(code, reason.encode(errors="replace")[:_MOST_REASON].decode(errors="ignore"))

    async def send_json(self, message: Mapping[str, object]) -> None:
        try:
            await self.ws.send_text(self.view.encode_json_string(message))
        except WebSocketDisconnect as error:
            raise WebSocketDisconnected from error


def _is_operation(payload: object) -> bool:
    return (
        isinstance(payload, dict)
        and isinstance(payload.get("query"), str)
        and isinstance(payload.get("variables"), dict | None)
        and isinstance(payload.get("operationName"), str | None)
    )


def _is_message(message: object) -> bool:
    """Whether its parts are of the types that the protocol says; the handler takes that for granted."""
    if not isinstance(message, dict) or not isinstance(message.get("type"), str):
        return False
    if message["type"] in ("subscribe", "complete") and not isinstance(message.get("id"), str):
        return False
    return message["type"] != "subscribe" or _is_operation(message.get("payload"))


class Operations(BaseGraphQLTransportWSHandler[Session, None]):
    """Refuses messages that are none with close code 4400, operations that are too many at a time, and with 4403 all
    that comes when the token or session has ended.
    """

    async def handle_message(self, message: Message) -> None:
        if _is_message(message):
            await super().handle_message(message)
        else:
            await self.handle_invalid_message("Failed to parse message")

    async def handle_subscribe(self, message: SubscribeMessage) -> None:
        if self.connection_acknowledged and not await self._still_signed_in():
            return
        found = len(self.operations) + 1
        if not self.connection_acknowledged or message["id"] in self.operations or found <= MOST_OPERATIONS:
            await super().handle_subscribe(message)
            return
        words = f"This is operation {found} under way on the connection; at most {MOST_OPERATIONS} are allowed."
        refusal: Any = too_much("operations", found, MOST_OPERATIONS, words).formatted
        await self.send_message({"id": message["id"], "type": "error", "payload": [refusal]})

    async def _still_signed_in(self) -> bool:
        """Closes the connection where nobody is any more, or where that cannot be told."""
        try:
            if await self.context.renew():
                return True
        except Exception:
            error_id = uuid.uuid4().hex
            log.exception("websocket_error", error_id=error_id)
            await self.websocket.close(1011, f"Something went wrong on our side. It is logged as {error_id}.")
            return False
        await self.websocket.close(4403, "The token or session has ended.")
        return False
