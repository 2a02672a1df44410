"""The parts of one execution: which one is under way, and how long each has taken."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal, get_args

Part = Literal["world", "agent", "evaluator", "keeping", "storing"]
#: `world` until it has started, `agent` until both have ended, `keeping` of what they left, `storing` in the database.
PARTS: tuple[Part, ...] = get_args(Part)


@dataclass(slots=True)
class Parts:
    """`seconds` holds the parts that have ended."""

    seconds: dict[Part, float] = field(default_factory=dict)
    present: Part | None = None
    clock: Callable[[], float] = time.monotonic
    began: float = field(init=False)

    def __post_init__(self) -> None:
        self.began = self.clock()

    def enter(self, part: Part | None) -> None:
        """The next part begins, or none, and the one under way ends."""
        now = self.clock()
        if self.present is not None:
            self.seconds[self.present] = self.seconds.get(self.present, 0.0) + now - self.began
        self.present, self.began = part, now

    def elapsed(self) -> float:
        """Seconds of the part under way."""
        return self.clock() - self.began
