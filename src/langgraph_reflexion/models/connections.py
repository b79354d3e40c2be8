"""Connections to OpenAI's API that cost less CPU than those that its client makes for itself."""

from collections.abc import AsyncGenerator
from typing import Any

_open: set[Any] = set()


def connections(*names: str | None) -> Any:
    """Connections for one event loop, which end with it; None where none of the models is OpenAI's.

    The SDK has them on offer, by way of aiohttp. They are for programs that end their event loop, as `asyncio.run`
    does: nobody would close them otherwise.

    Args:
        *names: Models, as `load_model` takes them.
    """
    if not any(name and name.startswith("openai:") for name in names):
        return None
    try:
        from aiohttp import ClientConnectionError
        from openai import APIConnectionError, DefaultAioHttpClient

        class Connections(DefaultAioHttpClient):
            _end: AsyncGenerator[None, None] | None = None

            async def send(self, request: Any, **options: Any) -> Any:
                if self._end is None:
                    # Whoever made it may be done with it sooner, and cannot close it.
                    _open.add(self)
                    self._end = _with_the_loop(self)
                    await anext(self._end)
                try:
                    return await super().send(request, **options)
                except Exception as error:
                    # A server that is not there is not one that takes its time, as is said of either.
                    why = error.__cause__
                    if isinstance(why, ClientConnectionError) and not isinstance(why, TimeoutError):
                        raise APIConnectionError(request=request) from error
                    raise

        return Connections()
    except (ImportError, RuntimeError):
        # An older SDK, or aiohttp is not there: the client's own will do.
        return None


async def _with_the_loop(client: Any) -> AsyncGenerator[None, None]:
    """Closes a client when the event loop ends its asynchronous generators."""
    try:
        yield
    finally:
        await client.aclose()
        _open.discard(client)
