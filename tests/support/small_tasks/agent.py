"""Agents without tools, for the small tasks, with a chat model that is served.

SMALL_TASKS_URL is the address of the server, SMALL_TASKS_MODEL the name of the model, and SMALL_TASKS_KEY its key.
For `escalating`, SMALL_TASKS_SMALLER_URL and SMALL_TASKS_SMALLER_MODEL say where a smaller model is served.
"""

import os
from typing import Any

from langchain.agents import create_agent
from langchain_openai import ChatOpenAI
from pydantic import SecretStr

URL = os.environ.get("SMALL_TASKS_URL", "http://127.0.0.1:8080/v1")
MODEL = os.environ.get("SMALL_TASKS_MODEL", "any")


def agent_at(temperature: float, url: str = URL, name: str = MODEL) -> Any:
    """Return an agent with the model of a server, at a temperature."""
    model = ChatOpenAI(
        model=name,
        base_url=url,
        api_key=SecretStr(os.environ.get("SMALL_TASKS_KEY", "none")),
        temperature=temperature,
        max_completion_tokens=200,
    )
    return create_agent(model, tools=[])


agent = agent_at(0.7)

warming = [agent_at(0), agent_at(0.5), agent_at(1)]
"""The same model at a rising temperature: one agent for each trial, the last for all further ones."""

SMALLER_URL = os.environ.get("SMALL_TASKS_SMALLER_URL", "http://127.0.0.1:8081/v1")
SMALLER_MODEL = os.environ.get("SMALL_TASKS_SMALLER_MODEL", "any")
escalating = [agent_at(0.7, SMALLER_URL, SMALLER_MODEL), agent]
"""A smaller model in the first trial, and the model itself in all further ones."""
