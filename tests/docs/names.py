"""The public names of the reference: each with the first sentence of its docstring."""

import re
from functools import cache
from typing import NamedTuple

import griffe

TOP = "langgraph_reflexion"
TESTING = f"{TOP}.testing"
SANDBOX = f"{TOP}.envs.sandbox"


class Group(NamedTuple):
    """Names that belong together, as they are imported from a module."""

    title: str
    names: str
    module: str = TOP

    @property
    def paths(self) -> list[str]:
        return [f"{self.module}.{name}" for name in self.names.split()]


GROUPS = [
    Group(
        "The graph",
        "create_reflexion connect Strategy Approval resume_point",
    ),
    Group("Your agent", "WrappedAgent World WorkspaceFolder ReflexionMiddleware"),
    Group("Profiles", "Profile PROFILES"),
    Group("State", "ReflexionState AgentState Step Evaluation Reflection"),
    Group(
        "Environments",
        "load_environment Environment Episode action Action StepResult Task ToolEnvironment mcp_tools GymEnvironment"
        " Tau2Environment",
    ),
    Group("Heuristics and evaluators", "Heuristic Evaluator Score Prepared CommandEvaluator"),
    Group("Prompts", "load_prompts Prompts"),
    Group("Models", "load_model ModelOptions Retries Price"),
    Group("Budgets", "Budget Budgets"),
    Group("Checkpoints", "LatestSaver open_checkpointer"),
    Group("Memory", "Memory Lessons open_lessons"),
    Group(
        "Errors",
        "ReflexionError ConfigurationError EnvironmentUnavailable Fault ModelFault ContextTooLong EnvironmentFault"
        " EpisodeLost",
    ),
    Group("Stream events", "TrialStarted ActionTaken VerdictGiven ReflectionWritten", f"{TOP}.events"),
    Group("Runtime context", "ReflexionContext", f"{TOP}.runtime"),
    Group(
        "Testing",
        "check_environment Case ScriptedChatModel ModelServer Recorder RecordedChatModel",
        TESTING,
    ),
    Group("The sandbox", "Sandbox Limits Policy", SANDBOX),
]


def in_short() -> str:
    """The names by group."""
    lines = []
    for group in GROUPS:
        lines += [f"## {group.title}", ""]
        lines += [f"From `{group.module}`. {sentence(group.module)}", ""] if group.module != TOP else []
        lines += [f"* [`{path.rpartition('.')[2]}`](#{path}): {sentence(path)}" for path in group.paths]
        lines.append("")
    return "\n".join(lines).rstrip()


def in_full() -> str:
    """The same names, for the site to put their docstrings in."""
    return "\n\n".join(f"::: {path}" for group in GROUPS for path in group.paths)


@cache
def package() -> griffe.Object | griffe.Alias:
    loader = griffe.GriffeLoader()
    loaded = loader.load(TOP)
    loader.resolve_aliases()
    return loaded


def sentence(path: str) -> str:
    """The first sentence of a docstring, from the source."""
    named = package()[path.removeprefix(f"{TOP}.")]
    docstring = (named.final_target if isinstance(named, griffe.Alias) else named).docstring
    assert docstring, f"{path} has no docstring"
    paragraph = " ".join(docstring.value.split("\n\n")[0].split())
    return re.split(r"(?<=\.)(?<!al\.) (?=[A-Z])", paragraph)[0].rstrip(".:") + "."
