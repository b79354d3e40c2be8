"""The help texts of the commands: options in groups, those of environments, and examples."""

import inspect
import re
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any

import typer
import typer.core

from langgraph_reflexion.errors import ConfigurationError, ReflexionError
from langgraph_reflexion.lab.cli.examples import EXAMPLES
from langgraph_reflexion.support.choices import ENVIRONMENTS

GROUPS = {
    "Task": ("split", "limit", "seed", "task"),
    "Model": (
        "model",
        "reflection_model",
        "base_url",
        "temperature",
        "max_tokens",
        "timeout",
        "retries",
        "cache",
        "prices",
    ),
    "Reflexion": ("profile", "actor", "strategy", "evaluator", "truth", "feedback", "rejects_answers"),
    "Memory": ("memory", "memory_size", "memory_map", "facts", "lessons", "user", "recall", "frozen"),
    "Limits": ("max_trials", "max_actions", "max_cycles", "until_no_improvement", "first_trial_of", "budgets"),
    "Scale": ("concurrency", "workers", "ray_address", "checkpoints", "database"),
}
"""The options of a command by group, both in the order of its help; others are in the last group, `Output`."""

OPEN = {"allow_extra_args": True, "ignore_unknown_options": True}
"""The declaration of a command whose other options, `--name value`, are the environment's."""


OPTION = re.compile(r"--[a-z][a-z0-9_-]*")
"""An option as it is written, without a value."""

Rows = dict[str, list[tuple[str, str]]]
"""The rows of a help text by section: an option or argument, and what it does."""


class ExampledCommand(typer.core.TyperCommand):
    """A command whose help ends with examples, and whose options need the value that they say."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        _expect_values(self.get_params(ctx), args)
        return super().parse_args(ctx, args)

    def format_options(self, ctx: Any, formatter: Any) -> None:
        rows: Rows = {"Arguments": [], "Options": []}
        for param in self.get_params(ctx):
            section = "Options"
            if param.param_type_name == "argument":
                section = "Arguments"
            rows[section] += _help_rows(param, ctx)
        _write_sections(formatter, rows)

    def format_epilog(self, ctx: Any, formatter: Any) -> None:
        super().format_epilog(ctx, formatter)
        examples = EXAMPLES.get(str(self.name))
        if not examples:
            return
        with formatter.section("Examples"):
            # Line by line, as a terminal may be narrower and a command has to stay whole.
            for line in examples:
                formatter.write(f"  {line}\n")


def _expect_values(params: Iterable[Any], args: Sequence[str]) -> None:
    """Check that no option stands where the value of the one before was left out.

    Raises:
        ConfigurationError: one does. A value that looks like an option is written as `--KEY=--VALUE`.
    """
    metavars: dict[str, str] = {}
    for param in params:
        takes_value = param.param_type_name == "option" and not param.is_flag and not param.count
        if takes_value:
            metavars.update(dict.fromkeys(param.opts, param.metavar or "VALUE"))
    for word, following in pairwise(args):
        if word == "--":
            return
        if word in metavars and OPTION.fullmatch(following):
            raise ConfigurationError(f"{word} needs a value ({metavars[word]}), and is followed by {following}")


def _write_sections(formatter: Any, rows: Rows) -> None:
    """Write the sections of a help text that have any rows."""
    for section, rows_of_section in rows.items():
        if rows_of_section:
            with formatter.section(section):
                formatter.write_dl(rows_of_section)


def _help_rows(param: Any, ctx: Any) -> list[tuple[str, str]]:
    """Return the row of a parameter: its name and its help; none if it is hidden."""
    record: tuple[str, str] | None = param.get_help_record(ctx)
    if record is None:
        return []
    name, help = record
    # typer adds the Python type of an argument to its name.
    return [(re.sub(r" <[^>]*>$", "", name), help)]


class GroupedCommand(ExampledCommand):
    """A command whose help shows its options in groups, and after an environment's name also that one's."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        named = [each for each in args if each in ENVIRONMENTS]
        if not named:
            # The first word may be an environment of the user's own.
            named = [each for each in args[:1] if not each.startswith("-")]
        ctx.meta[ENVIRONMENTS_OPTIONS] = named[:1]
        return super().parse_args(ctx, args)

    def format_options(self, ctx: Any, formatter: Any) -> None:
        rows: Rows = {"Arguments": []}
        rows |= {group: [] for group in GROUPS}
        rows["Output"] = []
        for param in _in_order(self.get_params(ctx)):
            rows[_section(param)] += _help_rows(param, ctx)
        if ctx.command.context_settings.get("ignore_unknown_options"):
            rows["Task"].append(("--tasks FILE", AGENTS_OWN))
            rows["Task"].append(("--KEY VALUE", ENVIRONMENTS_OWN))
        for name in ctx.meta.get(ENVIRONMENTS_OPTIONS, []):
            rows[f"Options of {name}"] = environment_options(name) or agent_options(name)
        _write_sections(formatter, rows)


def _in_order(params: Iterable[Any]) -> list[Any]:
    """Return the parameters of a command in the order of its help: by group, then all others as they are."""
    order: list[str] = []
    for names in GROUPS.values():
        order += names

    def place(param: Any) -> int:
        if param.name in order:
            return order.index(param.name)
        return len(order)

    return sorted(params, key=place)


def _section(param: Any) -> str:
    """Return the section of a parameter in the help of a command with groups."""
    if param.param_type_name == "argument":
        return "Arguments"
    for group, names in GROUPS.items():
        if param.name in names:
            return group
    return "Output"


AGENTS_OWN = "Tasks of your own agent; FILE.py:NAME before --help lists its other options."
"""The help of the option that an agent of the user's own needs."""
ENVIRONMENTS_OWN = "An option of the environment; its name before --help lists them all."
"""The help of the options that are the environment's own."""
ENVIRONMENTS_OPTIONS = f"{__name__}.environment"
"""The key of the environment's name in a context, whose options the help shows."""


def environment_options(name: str) -> list[tuple[str, str]]:
    """Return the options of an environment as rows of a help text; none if there is no such environment."""
    from langgraph_reflexion.envs import environment_class

    try:
        cls = environment_class(name)
    except ReflexionError:
        return []
    about = _described_arguments(cls)
    rows = []
    for parameter in inspect.signature(cls).parameters.values():
        named = parameter.kind in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY)
        if not named or parameter.name in ("seed", "options"):
            continue
        help = about.get(parameter.name, "")
        if parameter.default not in (None, parameter.empty):
            help += f"  [default: {parameter.default}]"
        rows.append((f"{spelt(parameter.name)} VALUE", help))
    return rows


def agent_options(name: str) -> list[tuple[str, str]]:
    """Return the options of an agent's tasks as rows of a help text; none if there is no such agent."""
    from langgraph_reflexion.agents.own import AgentTasks, options_of_agent

    try:
        options = options_of_agent(name, {})
    except ReflexionError:
        return []
    about = _described_arguments(AgentTasks)
    return [(f"{spelt(option)} VALUE", about[option]) for option in options]


def _described_arguments(cls: type) -> dict[str, str]:
    """Return what the docstring of a class's `__init__` says of each argument, in one line."""
    init = next(base for base in cls.__mro__ if "__init__" in vars(base))
    sections = re.split(r"^Args:$|^\w+:$", inspect.getdoc(init) or "", flags=re.MULTILINE)
    if len(sections) < 2:
        return {}
    arguments = _ARGUMENT.findall(f"{sections[1]}\n")
    return {name: " ".join(text.split()) for name, text in arguments}


def spelt(name: str) -> str:
    """Return a Python name as an option."""
    return f"--{name.replace('_', '-')}"


_ARGUMENT = re.compile(r"^ {4}(\w+): (.+?)$(?=\n {4}\w|\n*\Z)", re.MULTILINE | re.DOTALL)
