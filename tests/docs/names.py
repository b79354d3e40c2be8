"""The public names of the reference: each with the first sentence of its docstring."""

import re
from functools import cache
from typing import NamedTuple

import griffe

from tests.docs.pages import DOCS

TOP = "langgraph_reflexion"


class Group(NamedTuple):
    """Names that belong together, as they are imported from a module, and the page with their docstrings."""

    page: str
    title: str
    names: str
    module: str = TOP

    @property
    def paths(self) -> list[str]:
        return [f"{self.module}.{name}" for name in self.names.split()]


GROUPS = [
    Group("graph", "The graph", "create_reflexion connect Strategy Approval resume_point"),
    Group("graph", "Profiles", "Profile PROFILES"),
    Group("agents", "Your agent", "WrappedAgent World WorkspaceFolder ReflexionMiddleware"),
    Group("state", "State", "ReflexionState WrappedAgentState Step Evaluation Reflection"),
    Group("state", "Runtime context", "ReflexionContext", f"{TOP}.loop.context"),
    Group(
        "environments",
        "Environments",
        "load_environment Environment Episode action Action StepResult Task ToolEnvironment mcp_tools GymEnvironment"
        " Tau2Environment",
    ),
    Group("environments", "Grading", "grade_file Grades ProblemGrade", f"{TOP}.envs.programming.solutions"),
    Group("evaluators", "Heuristics and evaluators", "Heuristic Evaluator Score CommandEvaluator"),
    Group("evaluators", "Prompts", "load_prompts Prompts"),
    Group("models", "Models", "load_model ModelOptions Retries Price"),
    Group("models", "Budgets", "Budget Budgets"),
    Group("memory", "Checkpoints", "LatestSaver open_checkpointer"),
    Group("memory", "Memory", "Memory Lessons open_lessons"),
    Group(
        "runs",
        "Runs",
        "RunSettings run resume read_run read_prompts SentPrompt compare draw trials_of trials_of_run"
        " trials_of_thread",
        f"{TOP}.lab.experiments",
    ),
    Group(
        "errors",
        "Errors",
        "ReflexionError ConfigurationError EnvironmentUnavailable Fault ModelFault ContextTooLong EnvironmentFault"
        " EpisodeLost",
    ),
    Group(
        "testing",
        "Testing",
        "check_environment Case ScriptedChatModel Recorder RecordedChatModel",
        f"{TOP}.testing",
    ),
    Group("testing", "The sandbox", "Sandbox Limits Policy", f"{TOP}.envs.sandbox"),
]


def in_short() -> str:
    """The names by group, each with a link to its docstring."""
    lines = []
    for group in GROUPS:
        lines += [f"## {group.title}", ""]
        lines += [f"From `{group.module}`. {sentence(group.module)}", ""] if group.module != TOP else []
        for path in group.paths:
            lines.append(f"* [`{path.rpartition('.')[2]}`]({group.page}.md#{path}): {sentence(path)}")
        lines.append("")
    return "\n".join(lines).rstrip()


def in_full(page: str) -> str:
    """The names of a page, for the site to put their docstrings in."""
    shown = [group for group in GROUPS if group.page == page]
    return "\n\n".join(
        "\n\n".join([f"## {group.title}", *(f"::: {path}" for path in group.paths)]) for group in shown
    )


@cache
def package() -> griffe.Object | griffe.Alias:
    loader = griffe.GriffeLoader(extensions=griffe.load_extensions(DOCS / "top_folders.py"))
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
