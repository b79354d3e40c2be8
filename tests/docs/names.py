"""The public names of the reference: each with the first sentence of its docstring."""

import re
from functools import cache
from typing import NamedTuple

import griffe

from tests.docs.pages import DOCS

TOP = "langgraph_reflexion"


class Group(NamedTuple):
    """Names that belong together, and the page with their docstrings.

    They are imported from `module`, or from the one below it that precedes a name.
    """

    page: str
    title: str
    names: str
    module: str = TOP

    @property
    def paths(self) -> list[str]:
        return [f"{self.module}.{name}" for name in self.names.split()]


GROUPS = [
    Group("api", "The graph", "create_reflexion connect Approval resume_point state.Strategy"),
    Group("api", "Profiles", "Profile loop.profiles.PROFILES"),
    Group("api", "Your agent", "WrappedAgent ReflexionMiddleware agents.World envs.workspace.folder.WorkspaceFolder"),
    Group(
        "state",
        "State",
        "ReflexionState state.Step state.Evaluation state.Reflection state.ContinuedTrial agents.WrappedAgentState",
    ),
    Group("state", "Runtime context", "ReflexionContext", f"{TOP}.loop.context"),
    Group(
        "api",
        "Environments",
        "load_environment Environment Episode action StepResult Task ToolEnvironment envs.base.Action"
        " adapters.mcp.mcp_tools adapters.gym.GymEnvironment adapters.tau2.Tau2Environment envs.base.prompts_of",
    ),
    Group(
        "api",
        "Optional features",
        "SupportsPrepare SupportsRestore SupportsGoOn HasReplayable HasBlocking SupportsBlocks HasOwnTasksOnly"
        " SupportsExpectPrograms SupportsPlayedBy SupportsForTask HasActors Strict SupportsActionForms SupportsParse"
        " SupportsEquivalent SupportsFinalAnswer SupportsMemoryMap SupportsFacts Factual SupportsReview"
        " SupportsAnswer HasReplyTokens HasProfileDefaults HasProfileOverrides",
        f"{TOP}.envs.protocols",
    ),
    Group(
        "api",
        "Actions as tools and as texts",
        "tool_schemas action_forms shown_actions parse_action parse_forms read_call equivalent same_call",
        f"{TOP}.envs.grammar",
    ),
    Group("api", "Grading", "grade_file Grades ProblemGrade", f"{TOP}.envs.programming.solutions"),
    Group(
        "api",
        "Heuristics and evaluators",
        "Evaluator Score evaluators.function.CommandEvaluator evaluators.rubric.Rubric evaluators.all_of.AllOf "
        "loop.heuristic.Heuristic",
    ),
    Group("api", "Prompts", "load_prompts prompts.Prompts"),
    Group("api", "Models", "ModelOptions models.load.load_model models.usage.Price support.retries.Retries"),
    Group("api", "Budgets", "Budget Budgets"),
    Group("api", "Checkpoints", "open_checkpointer support.checkpoints.LatestSaver"),
    Group(
        "api",
        "Memory",
        "Memory Lessons memory.store.open_lessons learn_from alearn_from learning_graph"
        " graph.served_learning.FeedbackForm nodes.learn.Learned"
        " graph.later.learn_queued graph.later.alearn_queued",
    ),
    Group(
        "api",
        "Runs",
        "RunSettings run resume read_run read_prompts SentPrompt compare draw trials_of trials_of_run"
        " trials_of_thread",
        f"{TOP}.lab.experiments",
    ),
    Group(
        "state",
        "Errors",
        "ReflexionError ConfigurationError errors.EnvironmentUnavailable errors.Fault errors.ModelFault"
        " errors.ContextTooLong errors.EnvironmentFault errors.EpisodeLost",
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
            home, _, name = path.rpartition(".")
            where = "" if home == group.module else f", from `{home}`"
            lines.append(f"* [`{name}`]({group.page}.md#{path}){where}: {sentence(path)}")
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
