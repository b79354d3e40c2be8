"""What a wrapped agent raises: a signal for others, trouble outside, or a bug."""

from langchain_core.exceptions import OutputParserException
from langchain_core.tools import ToolException
from langgraph.errors import GraphBubbleUp
from langgraph.pregel.remote import RemoteException

from langgraph_reflexion.errors import Fault, ModelFault, ReflexionError, is_trouble
from langgraph_reflexion.models.faults import is_client_error, to_fault
from langgraph_reflexion.support.text import one_line

OF_THE_AGENT = (OutputParserException, ToolException)
"""LangChain's exceptions that no model client raises: a parser at the end of a chain does, or a tool."""


def is_signal(error: Exception) -> bool:
    """Return whether an error is meant for a graph around this one, or for whoever has built it."""
    # Interrupts and commands pass through LangGraph as exceptions.
    if isinstance(error, GraphBubbleUp):
        return True
    return isinstance(error, ReflexionError) and not isinstance(error, Fault)


def failure_in_words(error: Exception) -> str:
    """Return the trouble outside that has ended a trial, in words.

    Raises:
        ModelFault: it is permanent, and ends the run.
        Exception: the error itself, if it is a bug in the agent or in one of its tools.
    """
    by_client = is_client_error(error) and not isinstance(error, OF_THE_AGENT)
    is_outside = by_client or is_trouble(error) or isinstance(error, RemoteException)
    if not is_outside:
        raise error
    message = f"the agent failed: {one_line(error)}"
    # Other errors with such a status, as from a tool, say nothing about the model.
    client_is_refused = by_client and to_fault(error, []).permanent
    if getattr(error, "permanent", False) or client_is_refused:
        raise ModelFault(message, permanent=True) from error
    return message
