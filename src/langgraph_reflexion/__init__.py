"""The Reflexion agent (Shinn et al. 2023) as a LangGraph state machine.

```python
from langgraph_reflexion import create_reflexion, load_environment

environment = load_environment("alfworld")
graph = create_reflexion(model, environment).compile()
final = graph.invoke({"task": environment.tasks()[0]})
```

Public names are imported on first use, so that importing the package is cheap.
"""

from typing import TYPE_CHECKING

from langgraph_reflexion._lazy import lazy_names

if TYPE_CHECKING:
    from langgraph_reflexion.adapters.gym import GymEnvironment
    from langgraph_reflexion.adapters.mcp import mcp_tools
    from langgraph_reflexion.adapters.tau2 import Tau2Environment
    from langgraph_reflexion.adapters.tools import ToolEnvironment
    from langgraph_reflexion.agents.middleware import ReflexionMiddleware
    from langgraph_reflexion.agents.state import AgentState
    from langgraph_reflexion.agents.world import World
    from langgraph_reflexion.agents.wrapped import WrappedAgent
    from langgraph_reflexion.budgets import Budget, Budgets
    from langgraph_reflexion.checkpoints import LatestSaver, open_checkpointer
    from langgraph_reflexion.envs import load_environment
    from langgraph_reflexion.envs.base import Action, Environment, Episode, StepResult, Task, action
    from langgraph_reflexion.envs.workspace.folder import WorkspaceFolder
    from langgraph_reflexion.errors import (
        ConfigurationError,
        ContextTooLong,
        EnvironmentFault,
        EnvironmentUnavailable,
        EpisodeLost,
        Fault,
        ModelFault,
        ReflexionError,
    )
    from langgraph_reflexion.evaluators.base import Evaluator, Score
    from langgraph_reflexion.evaluators.function import CommandEvaluator
    from langgraph_reflexion.graph.reflexion import connect, create_reflexion
    from langgraph_reflexion.graph.resume import resume_point
    from langgraph_reflexion.heuristic import Heuristic
    from langgraph_reflexion.memory.episodic import Memory
    from langgraph_reflexion.memory.lessons import Lessons
    from langgraph_reflexion.memory.store import open_lessons
    from langgraph_reflexion.models.load import load_model
    from langgraph_reflexion.models.options import ModelOptions
    from langgraph_reflexion.models.usage import Price
    from langgraph_reflexion.nodes.approval import Approval
    from langgraph_reflexion.profiles import PROFILES, Profile
    from langgraph_reflexion.prompts import Prompts, load_prompts
    from langgraph_reflexion.retries import Retries
    from langgraph_reflexion.state import Evaluation, Reflection, ReflexionState, Step, Strategy

__version__ = "0.2.0"

_HOME = {
    "adapters.gym": ["GymEnvironment"],
    "adapters.mcp": ["mcp_tools"],
    "adapters.tau2": ["Tau2Environment"],
    "adapters.tools": ["ToolEnvironment"],
    "agents.middleware": ["ReflexionMiddleware"],
    "agents.state": ["AgentState"],
    "agents.world": ["World"],
    "agents.wrapped": ["WrappedAgent"],
    "budgets": ["Budget", "Budgets"],
    "checkpoints": ["LatestSaver", "open_checkpointer"],
    "envs": ["load_environment"],
    "envs.base": ["Action", "Environment", "Episode", "StepResult", "Task", "action"],
    "envs.workspace.folder": ["WorkspaceFolder"],
    "errors": [
        "ConfigurationError",
        "ContextTooLong",
        "EnvironmentFault",
        "EnvironmentUnavailable",
        "EpisodeLost",
        "Fault",
        "ModelFault",
        "ReflexionError",
    ],
    "evaluators.base": ["Evaluator", "Score"],
    "evaluators.function": ["CommandEvaluator"],
    "graph.reflexion": ["connect", "create_reflexion"],
    "graph.resume": ["resume_point"],
    "heuristic": ["Heuristic"],
    "memory.episodic": ["Memory"],
    "memory.lessons": ["Lessons"],
    "memory.store": ["open_lessons"],
    "models.load": ["load_model"],
    "models.options": ["ModelOptions"],
    "models.usage": ["Price"],
    "nodes.approval": ["Approval"],
    "profiles": ["PROFILES", "Profile"],
    "prompts": ["Prompts", "load_prompts"],
    "retries": ["Retries"],
    "state": ["Evaluation", "Reflection", "ReflexionState", "Step", "Strategy"],
}
_MODULE_OF = {name: f"langgraph_reflexion.{module}" for module, names in _HOME.items() for name in names}

__all__ = [
    "PROFILES",
    "Action",
    "AgentState",
    "Approval",
    "Budget",
    "Budgets",
    "CommandEvaluator",
    "ConfigurationError",
    "ContextTooLong",
    "Environment",
    "EnvironmentFault",
    "EnvironmentUnavailable",
    "Episode",
    "EpisodeLost",
    "Evaluation",
    "Evaluator",
    "Fault",
    "GymEnvironment",
    "Heuristic",
    "LatestSaver",
    "Lessons",
    "Memory",
    "ModelFault",
    "ModelOptions",
    "Price",
    "Profile",
    "Prompts",
    "Reflection",
    "ReflexionError",
    "ReflexionMiddleware",
    "ReflexionState",
    "Retries",
    "Score",
    "Step",
    "StepResult",
    "Strategy",
    "Task",
    "Tau2Environment",
    "ToolEnvironment",
    "WorkspaceFolder",
    "World",
    "WrappedAgent",
    "action",
    "connect",
    "create_reflexion",
    "load_environment",
    "load_model",
    "load_prompts",
    "mcp_tools",
    "open_checkpointer",
    "open_lessons",
    "resume_point",
]


__getattr__, __dir__ = lazy_names(__name__, _MODULE_OF)
