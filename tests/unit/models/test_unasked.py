import pytest

from langgraph_reflexion import ConfigurationError, create_reflexion
from langgraph_reflexion.models.unasked import UnaskedChatModel
from tests.support.toys import INPUT, Counter


@pytest.mark.parametrize("actor", ["react", "tools"])
def test_a_graph_whose_model_is_not_named_is_built_and_cannot_be_run(actor):
    graph = create_reflexion(UnaskedChatModel(), Counter(), actor=actor).compile()
    assert "act" in graph.get_graph().nodes
    with pytest.raises(ConfigurationError, match=r"no model is named.*model=\.\.\. \(--model\)"):
        graph.invoke(INPUT)
