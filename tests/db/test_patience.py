"""What is waited for, with errors as a server tells them."""

import asyncio

import pytest

from db import patience
from db.patience import Patience
from tests.db.conftest import Connection


@pytest.mark.parametrize(
    ("code", "is_awaited"),
    [("53100", True), ("25006", True), ("53300", True), ("57P01", True), ("40P01", False), ("23505", False)],
)
async def test_a_database_that_takes_nothing_is_waited_for(
    administrator: Connection, monkeypatch: pytest.MonkeyPatch, code: str, *, is_awaited: bool
) -> None:
    monkeypatch.setattr(patience, "RETRY_SECONDS", 0.01)
    tries = []

    async def attempt() -> int:
        tries.append(code)
        if len(tries) == 1:
            await administrator.execute(f"do $$begin raise exception using errcode = '{code}'; end$$")
        return len(tries)

    patiently = Patience(asyncio.Event())
    if is_awaited:
        assert await patiently(attempt) == 2
    else:
        with pytest.raises(Exception, match=code):
            await patiently(attempt)
