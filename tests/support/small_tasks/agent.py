"""An agent without tools, for the small tasks, with a chat model that is served.

SMALL_TASKS_URL is the address of the server, SMALL_TASKS_MODEL the name of the model, and SMALL_TASKS_KEY its key.
"""

import os

from langchain.agents import create_agent
from langchain_openai import ChatOpenAI
from pydantic import SecretStr

model = ChatOpenAI(
    model=os.environ.get("SMALL_TASKS_MODEL", "any"),
    base_url=os.environ.get("SMALL_TASKS_URL", "http://127.0.0.1:8080/v1"),
    api_key=SecretStr(os.environ.get("SMALL_TASKS_KEY", "none")),
    temperature=0.7,
    max_completion_tokens=200,
)
agent = create_agent(model, tools=[])
