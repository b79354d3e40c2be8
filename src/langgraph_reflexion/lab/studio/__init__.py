"""Graphs for LangGraph Studio and `langgraph dev`: one for each environment that ships."""

from pkgutil import resolve_name

from langgraph_reflexion.envs import ENVIRONMENTS
from langgraph_reflexion.lab.studio.graphs import environment_graphs

SERVED = {name: environment_graphs(resolve_name(path)) for name, path in ENVIRONMENTS.items()}
"""The graphs by their names in langgraph.json."""
globals().update({name: factory.serve for name, factory in SERVED.items()})
