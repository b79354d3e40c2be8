"""Calls in threads."""

import pytest

from langgraph_reflexion.sync import to_thread


async def test_a_function_that_runs_out_of_items_raises_instead_of_hanging():
    with pytest.raises(RuntimeError, match="StopIteration"):
        await to_thread(next, iter(()))
