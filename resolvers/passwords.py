"""Hashes of passwords: Argon2, away from the event loop."""

import asyncio
import os
import secrets
from concurrent.futures import ThreadPoolExecutor
from functools import cache

from pwdlib import PasswordHash

from db.errors import InvalidInputError

_LENGTH = range(12, 1025)

_argon2 = PasswordHash.recommended()
# A hash takes 64 MiB while it is made, so no more at a time than there are processors to make them.
_threads = ThreadPoolExecutor(os.cpu_count() or 1, thread_name_prefix="password")


async def hash_password(password: str) -> str:
    """Raises InvalidInputError for a password that is too short, too long or not text."""
    if not _is_possible(password):
        raise InvalidInputError(
            f"A password must be {_LENGTH[0]} to {_LENGTH[-1]} characters of text, without NUL.", ["password"]
        )
    return await asyncio.get_running_loop().run_in_executor(_threads, _argon2.hash, password)


async def verify(password: str, password_hash: str | None) -> bool:
    """Whether the password is the one hashed; without a hash it takes the same time and is False."""
    if not _is_possible(password):
        return False
    return await asyncio.get_running_loop().run_in_executor(_threads, _verify, password, password_hash)


def _verify(password: str, password_hash: str | None) -> bool:
    nobodys = _nobodys_hash()  # made on the first call, whoever asks
    matches = _argon2.verify(password, nobodys if password_hash is None else password_hash)
    return matches and password_hash is not None


@cache
def _nobodys_hash() -> str:
    return _argon2.hash(secrets.token_urlsafe(32))


def _is_possible(password: str) -> bool:
    try:
        password.encode()  # not of a lone surrogate
    except UnicodeEncodeError:
        return False
    return len(password) in _LENGTH and "\0" not in password
