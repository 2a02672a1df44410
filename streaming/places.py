"""Places for exports that are under way at a time: few in all, and fewer for one organization."""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Final
from uuid import UUID

from starlette.exceptions import HTTPException

RETRY_SECONDS: Final = 5


@dataclass(slots=True)
class Places:
    """Of one process. An organization has never all of them, or its slow clients would shut out every other one."""

    most: int
    most_of_one: int
    taken: Counter[UUID] = field(default_factory=Counter)

    @contextmanager
    def take(self, organization_id: UUID) -> Iterator[None]:
        """Holds a place. Raises HTTPException, a 429, where there is none left."""
        if self.taken.total() >= self.most:
            raise _full(f"{self.most} exports are under way, which is as many as there may be")
        if self.taken[organization_id] >= self.most_of_one:
            raise _full(
                f"{self.most_of_one} exports of your organization are under way, which is as many as it may have"
            )
        self.taken[organization_id] += 1
        try:
            yield
        finally:
            self.taken[organization_id] -= 1
            if not self.taken[organization_id]:
                del self.taken[organization_id]


def _full(reason: str) -> HTTPException:
    return HTTPException(429, f"{reason}; try again.", headers={"Retry-After": str(RETRY_SECONDS)})


PLACES: Final = Places(most=8, most_of_one=7)
