"""Functions that run in threads."""

import pytest

from langgraph_reflexion import create_reflexion
from langgraph_reflexion.testing import ScriptedChatModel
from tests.toys import Counter, count_to, counting_badly


@pytest.mark.parametrize("sync", [True, False])
async def test_an_evaluator_that_runs_out_of_items_is_a_bug_and_no_hang(sync):
    model = ScriptedChatModel(replies=counting_badly)
    graph = create_reflexion(model, Counter(), evaluator=lambda task, steps: next(iter(()))).compile()
    with pytest.raises(RuntimeError, match="raised StopIteration"):
        graph.invoke({"task": count_to(3)}) if sync else await graph.ainvoke({"task": count_to(3)})
