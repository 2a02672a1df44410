"""Searches for cycles of objects, made seldom in processes that make many objects and hardly any cycle."""

import gc

#: Objects made and kept before the youngest are searched. A wide answer makes thousands, none cyclic.
_COLLECT_AFTER = 50_000


def spare_what_stays() -> None:
    """Leaves what was made until now out of every later search, and searches seldom.

    To be called once, when a process is about to serve. In a worker it is a third of its own time.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(_COLLECT_AFTER, 20, 20)
