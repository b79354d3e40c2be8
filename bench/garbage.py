"""Python's garbage collector, kept from stopping all tasks of a sweep at once, again and again.

What is loaded when a sweep begins (modules, models, an environment's data) is hundreds of thousands of objects. A
full collection walks through all of them, while every task waits and its model's answer lies there; and with many
tasks on their way, whose prompts live as long as their calls, one follows the other. Reference counting frees what
a step leaves behind: there is next to nothing for the collector to find.
"""

import gc
import threading
from collections.abc import Iterator
from contextlib import contextmanager

RARELY = 20_000
"""How many objects more than before make the collector look; Python's own number is 700, from 3.13 on 2,000."""

_changing = threading.Lock()
_usual: list[tuple[tuple[int, int, int], bool]] = []
"""How often it looked before, and whether anything was kept from it, for each sweep that goes on in this process."""


@contextmanager
def rare_collections() -> Iterator[None]:
    """Have the collector look more rarely, and not at what is there by now; afterwards it is as it was.

    A collector that is switched off stays so, and one that looks more rarely still is left alone.
    """
    with _changing:
        before = gc.get_threshold()
        _usual.append((before, gc.get_freeze_count() > 0))
        gc.freeze()
        gc.set_threshold(max(before[0], RARELY) if before[0] else 0, *before[1:])
    try:
        yield
    finally:
        with _changing:
            threshold, frozen = _usual[0]
            _usual.pop()
            if not _usual:
                gc.set_threshold(*threshold)
                if not frozen:
                    gc.unfreeze()
