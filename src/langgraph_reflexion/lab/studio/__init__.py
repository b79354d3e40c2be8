"""Graphs for LangGraph Studio and `langgraph dev`: one for each environment that ships.

langgraph.json names the graphs. The server reads them from this module's variables, so a module `__getattr__` would
not do.
"""

from pkgutil import resolve_name

from langgraph_reflexion.envs import ENVIRONMENTS
from langgraph_reflexion.lab.studio.graphs import environment_graphs

SERVED = {name: environment_graphs(resolve_name(path)) for name, path in ENVIRONMENTS.items()}
"""The factories of the graphs by their names in langgraph.json."""

alfworld = SERVED["alfworld"].serve
fever = SERVED["fever"].serve
hotpotqa = SERVED["hotpotqa"].serve
programming = SERVED["programming"].serve
webshop = SERVED["webshop"].serve
workspace = SERVED["workspace"].serve
