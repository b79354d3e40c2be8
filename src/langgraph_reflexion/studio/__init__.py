"""Graphs for LangGraph Studio and `langgraph dev`, which bring their own checkpointer.

There is one for each environment that ships, and one to chat with. Each is built anew for an assistant's settings.
"""

from langgraph_reflexion.envs.alfworld.environment import ALFWorld
from langgraph_reflexion.envs.hotpotqa.environment import HotPotQA
from langgraph_reflexion.envs.programming.environment import Programming
from langgraph_reflexion.envs.webshop.environment import WebShop
from langgraph_reflexion.envs.workspace.environment import Workspace
from langgraph_reflexion.studio.chat import chat_graphs
from langgraph_reflexion.studio.forms import FolderForm, QuestionForm
from langgraph_reflexion.studio.graphs import PAGES, environment_graphs

SERVED = {
    "alfworld": environment_graphs(ALFWorld),
    "hotpotqa": environment_graphs(HotPotQA, QuestionForm, pages=PAGES),
    "programming": environment_graphs(Programming),
    "webshop": environment_graphs(WebShop),
    "workspace": environment_graphs(Workspace, FolderForm),
    "chat": chat_graphs(),
}
"""The graphs by their names in langgraph.json."""
for _graphs in SERVED.values():
    # The server imports this module in a thread, and asks for graphs on its event loop.
    _graphs.warm()

alfworld = SERVED["alfworld"].serve
"""Household tasks."""
hotpotqa = SERVED["hotpotqa"].serve
"""Questions."""
programming = SERVED["programming"].serve
"""Programs."""
webshop = SERVED["webshop"].serve
"""Errands in a shop."""
workspace = SERVED["workspace"].serve
"""Broken repositories, and folders of yours."""
chat = SERVED["chat"].serve
"""Questions in a conversation."""
