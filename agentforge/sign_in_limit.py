"""Slows down the guessing of passwords."""

import hashlib
import math
import time
from collections import OrderedDict
from collections.abc import Callable


class SignInLimit:
    """At most `attempts` failed sign-ins for one address within `seconds`, in this process.

    Holds digests, no addresses, and at most `capacity` of them: the one tried longest ago is forgotten first.
    """

    def __init__(
        self,
        attempts: int = 10,
        seconds: float = 300,
        capacity: int = 10_000,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._attempts = attempts
        self._seconds = seconds
        self._capacity = capacity
        self._clock = clock
        self._started: OrderedDict[bytes, list[float]] = OrderedDict()

    def start(self, email: str) -> int | None:
        """Count an attempt before its outcome is known, so that many at once do not pass together.

        Returns the seconds to wait when there were too many; then nothing is counted.
        """
        now, key = self._clock(), _key(email)
        started = [moment for moment in self._started.get(key, []) if moment > now - self._seconds]
        if len(started) >= self._attempts:
            return math.ceil(started[0] + self._seconds - now)
        self._started[key] = [*started, now]
        self._started.move_to_end(key)
        if len(self._started) > self._capacity:
            self._started.popitem(last=False)
        return None

    def succeeded(self, email: str) -> None:
        self._started.pop(_key(email), None)

    def __len__(self) -> int:
        return len(self._started)


def _key(email: str) -> bytes:
    return hashlib.sha256(email.lower().encode()).digest()
