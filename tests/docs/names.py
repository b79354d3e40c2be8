"""The public names of the reference: each with its signature in short and the first sentence of its docstring."""

import ast
import re
from collections.abc import Iterator
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
    Group("The graph", "create_reflexion connect ReflexionMiddleware WrappedAgent Strategy Approval resume_point"),
    Group("Profiles", "Profile PROFILES"),
    Group("State", "ReflexionState AgentState Step Evaluation Reflection"),
    Group("Environments", "load_environment Environment Episode action Action StepResult Task"),
    Group("Heuristics and evaluators", "Heuristic Evaluator Score Prepared CommandEvaluator"),
    Group("Prompts", "load_prompts Prompts"),
    Group("Models", "load_model ModelOptions Retries Price"),
    Group("Budgets", "Budget Budgets"),
    Group("Checkpoints", "LatestSaver open_checkpointer"),
    Group("Memory", "Memory Lessons open_lessons"),
    Group(
        "Errors",
        "ReflexionError ConfigurationError EnvironmentUnavailable Fault ModelFault ContextTooLong EnvironmentFault",
    ),
    Group(
        "Testing",
        "check_environment Case ScriptedChatModel ModelServer MediaWikiServer WebShopServer Recorder"
        " RecordedChatModel",
        TESTING,
    ),
    Group("The sandbox", "Sandbox Limits Policy", SANDBOX),
]


def in_short() -> str:
    """The names by group, each as it is called; below a base class, what a class of one's own has from it."""
    lines = []
    for group in GROUPS:
        lines += [f"## {group.title}", ""]
        lines += [f"From `{group.module}`. {sentence(found(group.module))}", ""] if group.module != TOP else []
        for path in group.paths:
            named = found(path)
            called = "" if call(named) == named.name else f"<br>`{call(named)}`"
            lines.append(f"* [`{named.name}`](#{path}): {sentence(named)}{called}")
            lines += [f"    * `{call(member)}`: {sentence(member)}" for member in inherited(named)]
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


def found(path: str) -> griffe.Object:
    """What a path leads to, in the source and not run."""
    named = package()[path.removeprefix(f"{TOP}.")]
    return named.final_target if isinstance(named, griffe.Alias) else named


def sentence(named: griffe.Object) -> str:
    """The first sentence of a docstring."""
    assert named.docstring, f"{named.path} has no docstring"
    paragraph = " ".join(named.docstring.value.split("\n\n")[0].split())
    return re.split(r"(?<=\.)(?<!al\.) (?=[A-Z])", paragraph)[0].rstrip(".:") + "."


def is_base(named: griffe.Object) -> bool:
    """Whether classes of one's own are made of it."""
    return isinstance(named, griffe.Class) and [str(base) for base in named.bases] == ["ABC"]


def inherited(named: griffe.Object) -> list[griffe.Object]:
    """What such a class takes over, or writes anew."""
    return [each for each in members(named) if each.docstring] if is_base(named) else []


def members(named: griffe.Object) -> Iterator[griffe.Object]:
    for name, each in named.members.items():
        if not name.startswith("_") and isinstance(each, griffe.Object):
            yield each


def call(named: griffe.Object) -> str:
    """A name as it is called, or given its fields; what is neither, as it is."""
    if isinstance(named, griffe.Function):
        return f"{named.name}({', '.join(parameters(named.parameters))})"
    if not isinstance(named, griffe.Class) or is_base(named):
        return named.name
    given = list(parameters(named.parameters)) or list(fields(named))
    return f"{named.name}({', '.join(given)})" if given else named.name


def fields(named: griffe.Class) -> Iterator[str]:
    for each in members(named):
        if isinstance(each, griffe.Attribute) and "property" not in each.labels:
            yield f"{each.name}{default(each.value)}"


def parameters(signature: griffe.Parameters) -> Iterator[str]:
    """Parameters as a signature has them, without types."""
    kinds = griffe.ParameterKind
    stars = {kinds.var_positional: "*", kinds.var_keyword: "**"}
    by_keyword = False
    for each in signature:
        if each.name in ("self", "cls"):
            continue
        if each.kind is kinds.keyword_only and not by_keyword:
            yield "*"
        by_keyword = by_keyword or each.kind in (kinds.keyword_only, kinds.var_positional)
        star = stars.get(each.kind, "") if each.kind else ""
        yield f"{star}{each.name}{'' if star else default(each.default)}"


def default(value: str | griffe.Expr | None) -> str:
    """A default that is short and plain; of others, that there is one."""
    if value is None:
        return ""
    try:
        ast.literal_eval(str(value))
    except ValueError:
        return "=..."
    return f"={value}" if len(str(value)) <= 30 else "=..."
