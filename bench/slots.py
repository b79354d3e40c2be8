"""How many tasks are advanced at once, and how quickly one begins after another."""

import asyncio

PACE = 0.008
"""At least so many seconds lie between two beginnings: about twice what the CPU has to do for one model call."""


class Slots:
    """A place for each of so many tasks, with `async with`. In which order they ask for one, they get it.

    Tasks do not begin at the same moment, as they would stay together from there on: the answers to questions that
    were sent together come together, and the last of 64 waits until the process is done with all the others. Begun
    one after another they spread over the time that an answer takes, which need not be known.

    Args:
        number: How many there are.
    """

    def __init__(self, number: int) -> None:
        self._free = asyncio.Semaphore(number)
        self._turn = asyncio.Lock()
        self._last = -PACE

    async def __aenter__(self) -> None:
        await self._free.acquire()
        try:
            async with self._turn:
                clock = asyncio.get_running_loop()
                await asyncio.sleep(self._last + PACE - clock.time())
                self._last = clock.time()
        except BaseException:
            self._free.release()
            raise

    async def __aexit__(self, *exception: object) -> None:
        self._free.release()
