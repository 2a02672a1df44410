"""Searches for cycles of objects, made seldom in processes that make many objects and hardly any cycle."""

import gc

#: Objects made and kept before the youngest are searched. Strawberry leaves some 50 in cycles for each operation: at
#: 50,000 one in a thousand took 40 ms longer, and now 7 ms. A wide answer makes thousands, and took no longer.
_COLLECT_AFTER = 10_000


def spare_what_stays() -> None:
    """Leaves what was made until now out of every later search, and searches seldom.

    To be called once, when a process is about to serve. In a worker it is a third of its own time.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(_COLLECT_AFTER, 20, 20)
