"""The parts of pages that come from the code, and `docs/llms.txt`. `python -m tests.docs.generated` rewrites them."""

import re
from functools import cache

import typer
import typer.cli
from griffe import Docstring, DocstringSectionKind
from typer.main import get_command

from benchmarks.rivals.run import read_rows
from benchmarks.rivals.table import page as rivals_page
from benchmarks.rivals.table import together
from langgraph_reflexion.envs import ENVIRONMENTS, environment_class
from langgraph_reflexion.envs.protocols import actors_of
from langgraph_reflexion.lab.cli.commands import app
from langgraph_reflexion.loop.profiles import PROFILES
from langgraph_reflexion.prompts import load_prompts
from langgraph_reflexion.support.choices import UNLIMITED
from tests.docs import llms
from tests.docs.names import GROUPS, in_full, in_short
from tests.docs.pages import PAGES, ROOT
from tests.test_architecture import LAYERS

REGION = re.compile(r"(<!-- generated: ([\w /-]+) -->\n).*?(<!-- end -->)", re.DOTALL)


def one_line(text):
    return " ".join(text.split()).replace("|", "\\|")


def tools(name):
    """The actions of an environment: tool, how it is written as text, and what it does."""
    rows = ["| tool | as text | what it does |", "|---|---|---|"]
    for spec in environment_class(name).episode.actions().values():
        described = one_line(spec.description.split("\n\n")[0])
        written = "<br>".join(in_code(one_line(line)) for line in spec.forms[0].splitlines())
        rows.append(f"| `{spec.name}` | {written} | {described} |")
    return "\n".join(rows)


def in_code(text):
    """A text as code, whose marks are longer than any backticks in it."""
    if "`" not in text:
        return f"`{text}`"
    longest = max(len(marks) for marks in re.findall("`+", text))
    marks = "`" * (longest + 1)
    return f"{marks} {text} {marks}"


def arguments(name):
    """The options of an environment, from its docstring or that of the class with its `__init__`."""
    cls = environment_class(name)
    init = next(base for base in cls.__mro__ if "__init__" in vars(base))
    rows = ["| option | what it says |", "|---|---|"]
    for section in Docstring(init.__doc__ or "").parse("google", warn_unknown_params=False, warn_missing_types=False):
        if section.kind is DocstringSectionKind.parameters:
            rows += [f"| `{each.name}` | {one_line(each.description)} |" for each in section.value]
    return "\n".join(rows)


def prompts(name):
    """How many examples an environment's prompts hold, by folder."""
    cls = environment_class(name)
    rows = ["| folder | trajectories | reflections |", "|---|---|---|"]
    for folder in (name, *(f"{name}/{actor}" for actor in actors_of(cls))):
        if not (ROOT / "prompts" / folder).is_dir():
            continue
        loaded = load_prompts(ROOT / "prompts" / folder)
        kinds = {}
        for example in loaded.examples(None, UNLIMITED):
            kinds[example.kind] = kinds.get(example.kind, 0) + 1
        counts = ", ".join(f"{count} {kind}".strip() for kind, count in kinds.items())
        rows.append(f"| `prompts/{folder}` | {counts or 'none'} | {len(loaded.reflections)} |")
    return "\n".join(rows)


def profiles():
    """The numbers of the profiles, environment by environment."""
    rows = ["| | profile | trials | reflections | examples | stopped after |", "|---|---|---|---|---|---|"]
    for name in ENVIRONMENTS:
        for profile in PROFILES.values():
            of = profile.resolve(environment_class(name))
            h = of.heuristic
            rules = [f"{h.max_cycles + 1} equal cycles"] if h.max_cycles < UNLIMITED else []
            rules.append(f"more than {h.max_actions} actions")
            memory = "all" if of.memory_size >= UNLIMITED else of.memory_size
            row = (f"`{name}`", f"`{profile.name}`", of.max_trials, memory, of.examples, ", or ".join(rules))
            rows.append(f"| {' | '.join(map(str, row))} |")
    return "\n".join(rows)


def defaults():
    """What each environment plays under the profile of the paper, if nothing else is asked for."""
    rows = ["| | actor | strategy | evaluator | feedback |", "|---|---|---|---|---|"]
    for name in ENVIRONMENTS:
        of = PROFILES["paper"].resolve(environment_class(name))
        cells = [f"`{value}`" for value in (name, of.actor, of.strategy, of.evaluator, of.feedback)]
        rows.append(f"| {' | '.join(cells)} |")
    return "\n".join(rows)


def with_whole_help(text, command):
    """Return the reference with what each command does, which the lists of commands cut short."""
    commands = {}
    lines = text.splitlines()
    for number, line in enumerate(lines):
        if heading := re.fullmatch(r"#+ `[\w-]+((?: [\w-]+)*)`", line):
            group = command
            for word in heading[1].split():
                group = group.commands[word]
            commands = getattr(group, "commands", {})
        elif (cut := re.fullmatch(r"\* `([\w-]+)`: .*\.\.\.", line)) and cut[1] in commands:
            lines[number] = f"* `{cut[1]}`: {one_line(commands[cut[1]].help or '')}"
    return "\n".join(lines)


def command_line():
    """The commands with their arguments and options."""
    command = get_command(app)
    context = typer.Context(command)
    text = typer.cli.get_docs_for_click(obj=command, ctx=context, name="langgraph-reflexion")
    text = with_whole_help(text, command)
    # Usage as a line, not as a block that a reader might run; and the title is the page's own.
    text = re.sub(r"\*\*Usage\*\*:\n\n```console\n\$ (.*)\n```", r"**Usage**: `\1`", text)
    return text.partition("\n")[2].strip()


def layers():
    """The layers of the package, highest first."""
    rows = [f"| {', '.join(f'`{name}`' for name in line.split())} |" for line in LAYERS.strip().split("\n")[::-1]]
    return "\n".join(["| layer |", "|---|", *rows])


RECORDED = read_rows(ROOT / "benchmarks" / "rivals" / "recorded" / "rows.jsonl")
"""The rows of `benchmarks/rivals` with a real model."""


def rivals(world):
    """What came of a world of `benchmarks/rivals`."""
    return "\n".join(rivals_page(RECORDED, world))


@cache
def writers():
    """Every generated part by its name."""
    found = {"command line": command_line, "layers": layers, "names in short": in_short, "profiles": profiles}
    found["defaults"] = defaults
    for page in {group.page for group in GROUPS}:
        found[f"names of {page}"] = lambda page=page: in_full(page)
    found["rivals"] = lambda: "\n".join(together(RECORDED))
    for world in {row["world"] for row in RECORDED}:
        found[f"rivals/{world}"] = lambda world=world: rivals(world)
    for name in ENVIRONMENTS:
        for what in (tools, arguments, prompts):
            found[f"{what.__name__}/{name}"] = lambda what=what, name=name: what(name)
    return found


def regenerated(text):
    """A page with its generated parts rewritten."""

    def write(match):
        return f"{match[1]}\n{writers()[match[2]]()}\n\n{match[3]}"

    return REGION.sub(write, text)


if __name__ == "__main__":
    for page in PAGES:
        page.path.write_text(regenerated(page.text), encoding="utf-8")
    # After the pages, as it has their first sentences.
    llms.FILE.write_text(llms.llms_txt(), encoding="utf-8")
