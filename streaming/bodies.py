"""How much a request may bring."""

from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send


class LimitBody:
    """Refuses a request body of more than `limit` bytes with a 413, when announced or else as soon as it has come.

    For a route's middleware, inside of what turns exceptions into answers.
    """

    def __init__(self, app: ASGIApp, limit: int) -> None:
        self.app = app
        self.limit = limit

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        announced = Headers(scope=scope).get("content-length", "0")
        left = self.limit - (int(announced) if announced.isdecimal() else 0)
        self._check(left)
        left = self.limit

        async def receive_up_to_limit() -> Message:
            nonlocal left
            message = await receive()
            left -= len(message.get("body", b""))
            self._check(left)
            return message

        await self.app(scope, receive_up_to_limit, send)

    def _check(self, left: int) -> None:
        if left < 0:
            raise HTTPException(413, f"The body may take at most {self.limit:,} bytes.")
