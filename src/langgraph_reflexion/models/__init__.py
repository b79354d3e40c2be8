"""Chat models: made by name, and called with retries, accounts and a cache."""

from langgraph_reflexion.models.client import Client
from langgraph_reflexion.models.load import DEMO, TIMEOUT_SECONDS, load_model
from langgraph_reflexion.models.options import ModelOptions
from langgraph_reflexion.models.usage import Price
from langgraph_reflexion.retries import Retries

__all__ = ["DEMO", "TIMEOUT_SECONDS", "Client", "ModelOptions", "Price", "Retries", "load_model"]
