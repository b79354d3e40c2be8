"""Graphs for LangGraph Studio and `langgraph dev`, which bring their own checkpointer.

One for each environment that ships, and one to chat with. Each is built anew for the settings of its assistant.
"""

from langgraph_reflexion.envs.alfworld.environment import ALFWorld
from langgraph_reflexion.envs.hotpotqa.environment import HotPotQA
from langgraph_reflexion.envs.programming.environment import Programming
from langgraph_reflexion.envs.webshop.environment import WebShop
from langgraph_reflexion.envs.workspace.environment import Workspace
from langgraph_reflexion.studio.chat import served_chat
from langgraph_reflexion.studio.environments import served
from langgraph_reflexion.studio.forms import FolderForm, QuestionForm

SERVED = {
    "alfworld": served(ALFWorld),
    "hotpotqa": served(HotPotQA, QuestionForm, options=["pages"]),
    "programming": served(Programming),
    "webshop": served(WebShop),
    "workspace": served(Workspace, FolderForm),
    "chat": served_chat(),
}
"""The graphs by their names in langgraph.json."""
for _graph in SERVED.values():
    # The server imports this in a thread, and asks for graphs on its event loop.
    _graph.warm()

alfworld = SERVED["alfworld"].graph
"""Household tasks."""
hotpotqa = SERVED["hotpotqa"].graph
"""Questions."""
programming = SERVED["programming"].graph
"""Programs."""
webshop = SERVED["webshop"].graph
"""Errands in a shop."""
workspace = SERVED["workspace"].graph
"""Broken repositories, and folders of yours."""
chat = SERVED["chat"].graph
"""Questions in a conversation."""
