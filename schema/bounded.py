"""What was used last, up to a size in all."""

from collections import OrderedDict
from collections.abc import Iterator
from typing import Generic, TypeVar

Value = TypeVar("Value")


class Bounded(Generic[Value]):
    """Values by text, of which the ones used longest ago are forgotten when the sizes add up to more than `limit`."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.size = 0
        self._known = OrderedDict[str, tuple[Value, int]]()

    def __iter__(self) -> Iterator[str]:
        return iter(self._known)

    def __len__(self) -> int:
        return len(self._known)

    def get(self, key: str) -> Value | None:
        found = self._known.get(key)
        if found is None:
            return None
        self._known.move_to_end(key)
        return found[0]

    def put(self, key: str, value: Value, size: int) -> None:
        """Keeps a value that is not known yet; one that is larger than the limit is not kept."""
        if key in self._known or size > self.limit:
            return
        self._known[key] = value, size
        self.size += size
        while self.size > self.limit:
            _, (_, forgotten) = self._known.popitem(last=False)
            self.size -= forgotten
