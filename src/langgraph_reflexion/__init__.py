"""The Reflexion agent (Shinn et al. 2023) as a LangGraph state machine.

```python
from langgraph_reflexion import create_reflexion, load_environment

environment = load_environment("alfworld")
graph = create_reflexion(model, environment).compile()
final = graph.invoke({"task": environment.tasks()[0]})
```

Public names are imported when they are first used (PEP 562), so that importing the package is cheap.
"""

from typing import TYPE_CHECKING

from langgraph_reflexion.support.lazy import lazy_names

if TYPE_CHECKING:
    from langgraph_reflexion.adapters.tools import ToolEnvironment as ToolEnvironment
    from langgraph_reflexion.agents.middleware import ReflexionMiddleware as ReflexionMiddleware
    from langgraph_reflexion.agents.wrapped import WrappedAgent as WrappedAgent
    from langgraph_reflexion.envs import load_environment as load_environment
    from langgraph_reflexion.envs.base import Environment as Environment
    from langgraph_reflexion.envs.base import Episode as Episode
    from langgraph_reflexion.envs.base import StepResult as StepResult
    from langgraph_reflexion.envs.base import Task as Task
    from langgraph_reflexion.envs.base import action as action
    from langgraph_reflexion.errors import ConfigurationError as ConfigurationError
    from langgraph_reflexion.errors import ReflexionError as ReflexionError
    from langgraph_reflexion.evaluators.base import Evaluator as Evaluator
    from langgraph_reflexion.evaluators.base import Score as Score
    from langgraph_reflexion.graph.learning import alearn_from as alearn_from
    from langgraph_reflexion.graph.learning import learn_from as learn_from
    from langgraph_reflexion.graph.reflexion import connect as connect
    from langgraph_reflexion.graph.reflexion import create_reflexion as create_reflexion
    from langgraph_reflexion.graph.resume import resume_point as resume_point
    from langgraph_reflexion.graph.served_learning import learning_graph as learning_graph
    from langgraph_reflexion.loop.budgets import Budget as Budget
    from langgraph_reflexion.loop.budgets import Budgets as Budgets
    from langgraph_reflexion.loop.profiles import Profile as Profile
    from langgraph_reflexion.memory.episodic import Memory as Memory
    from langgraph_reflexion.memory.lessons import Lessons as Lessons
    from langgraph_reflexion.models.options import ModelOptions as ModelOptions
    from langgraph_reflexion.nodes.approval import Approval as Approval
    from langgraph_reflexion.prompts import load_prompts as load_prompts
    from langgraph_reflexion.state import ReflexionState as ReflexionState
    from langgraph_reflexion.support.checkpoints import open_checkpointer as open_checkpointer

__version__ = "0.3.0.dev0"
MODULE_OF = {
    "Approval": "langgraph_reflexion.nodes.approval",
    "Budget": "langgraph_reflexion.loop.budgets",
    "Budgets": "langgraph_reflexion.loop.budgets",
    "ConfigurationError": "langgraph_reflexion.errors",
    "Environment": "langgraph_reflexion.envs.base",
    "Episode": "langgraph_reflexion.envs.base",
    "Evaluator": "langgraph_reflexion.evaluators.base",
    "Lessons": "langgraph_reflexion.memory.lessons",
    "Memory": "langgraph_reflexion.memory.episodic",
    "ModelOptions": "langgraph_reflexion.models.options",
    "Profile": "langgraph_reflexion.loop.profiles",
    "ReflexionError": "langgraph_reflexion.errors",
    "ReflexionMiddleware": "langgraph_reflexion.agents.middleware",
    "ReflexionState": "langgraph_reflexion.state",
    "Score": "langgraph_reflexion.evaluators.base",
    "StepResult": "langgraph_reflexion.envs.base",
    "Task": "langgraph_reflexion.envs.base",
    "ToolEnvironment": "langgraph_reflexion.adapters.tools",
    "WrappedAgent": "langgraph_reflexion.agents.wrapped",
    "action": "langgraph_reflexion.envs.base",
    "alearn_from": "langgraph_reflexion.graph.learning",
    "connect": "langgraph_reflexion.graph.reflexion",
    "create_reflexion": "langgraph_reflexion.graph.reflexion",
    "learn_from": "langgraph_reflexion.graph.learning",
    "learning_graph": "langgraph_reflexion.graph.served_learning",
    "load_environment": "langgraph_reflexion.envs",
    "load_prompts": "langgraph_reflexion.prompts",
    "open_checkpointer": "langgraph_reflexion.support.checkpoints",
    "resume_point": "langgraph_reflexion.graph.resume",
}
"""The public names, with the modules that define them."""
__all__, __getattr__, __dir__ = lazy_names(__name__, MODULE_OF)
