"""The agent of `tests.support.support_agent`, and what learns from feedback on it, as a server serves them."""

from langgraph_reflexion import learning_graph
from tests.support.support_agent import support_agent

graph = support_agent().compile()
feedback = learning_graph(graph)
