"""Golden cases for the native ALFWorld engine: games recorded on the reference engine.

A file of cases is TOML: `room` tables say what is there, and each `case` changes one of them, or brings a problem of
its own, and lists commands with what the reference engine answered:

    [[case]]
    name = "start-holding"
    about = "The game begins with something in hand."
    task = "put a mug in desk"
    add = ["(holds agent1 mug_bar_2)"]
    opening = "..."                             # what reset() says
    can = ["go to desk 1", ...]                 # what is admissible then
    won = true                                  # and whether the goal holds, if it does
    steps = [
      { do = "look", see = "...", new = [...], gone = [...], won = true },
    ]

`new` and `gone` are changes of the admissible commands, `won` is given where it changed. For a new case,
`play(TextWorldEngine(case.file(), workers), case.commands)` yields what the reference engine shows.
"""

from __future__ import annotations

import json
import tomllib
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

from langgraph_reflexion.envs.alfworld.engine import Game
from langgraph_reflexion.envs.alfworld.pddl import Problem
from langgraph_reflexion.envs.alfworld.releases import Release
from langgraph_reflexion.envs.alfworld.textworld import installed_texts
from langgraph_reflexion.envs.alfworld.world import World

OLD = {
    '"move {o} to {r}"': '"put {o} in/on {r}"',
    "You move the {o.name} to the {r.name}.": "You put the {o.name} in/on the {r.name}.",
    "You arrive at {r.name}.": "You arrive at {lend.name}.",
}
"""How the grammar of today becomes the one of json_2.1.1."""


class Seen(NamedTuple):
    """What an engine shows at one moment."""

    text: str
    admissible: tuple[str, ...]
    won: bool


@dataclass(frozen=True, slots=True)
class Case:
    """One recorded game."""

    name: str
    game: Game
    old: bool = False
    """Whether it is worded as before ALFWorld 0.4."""
    commands: tuple[str, ...] = ()
    seen: tuple[Seen, ...] = ()
    """At the start, and after each command."""

    def world(self):
        """The world that the native engine plays, which for the old wording needs no file of that time."""
        release = Release("put" if self.old else "move")
        return World(Problem.parse(self.game.problem), release, self.game.instruction)

    def file(self):
        """The game with the domain and grammar that a file would have, where they are installed."""
        domain, grammar = before_0_4(*installed_texts()) if self.old else installed_texts()
        # What the task is called in JSON: a text of a hand-written case may have quotation marks.
        task = json.dumps(self.game.instruction.removesuffix("."))[1:-1]
        return replace(self.game, domain=domain, grammar=grammar.replace("UNKNOWN GOAL", task))


def before_0_4(domain, grammar):
    """The domain and grammar of json_2.1.1, made from today's."""
    # The old domain has no `help`; it is the last action of today's.
    domain, grammar = domain[: domain.index("(:action help")] + ")\n", grammar[: grammar.index("action help")]
    for new, was in OLD.items():
        grammar = grammar.replace(new, was)
    return domain, grammar


def read_cases(path):
    """The cases of a file, or of all files of a folder."""
    path = Path(path)
    files = sorted(path.glob("*.toml")) if path.is_dir() else [path]
    return [case for file in files for case in _cases(tomllib.loads(file.read_text("utf-8")), file)]


def _cases(content, file):
    rooms = tomllib.loads((file.parent / "rooms.toml").read_text("utf-8")) if "case" in content else {}
    for table in content.get("case", ()):
        problem = table.get("problem") or _problem({**rooms[table.get("room", "room")], **table})
        if table.get("upper_case"):
            problem = problem.upper()
        yield Case(
            name=table["name"],
            game=Game(
                id=table["name"], kind="pick", instruction=table["task"].removesuffix(".") + ".", problem=problem
            ),
            old=table.get("old", False),
            commands=tuple(step["do"] for step in table["steps"]),
            seen=tuple(_seen(table)),
        )


def _problem(table):
    facts = [fact for fact in table["facts"].splitlines() if fact not in table.get("drop", ())]
    at = f"(atLocation agent1 {table.get('at', 'loc_bar_0')})"
    lines = [
        "(define (problem room) (:domain alfred)",
        "(:objects",
        *table["objects"].splitlines(),
        *table.get("more", ()),
        ") (:init",
        *([at] if at not in facts else []),
        *facts,
        *table.get("add", ()),
        ") (:goal (and",
        table["goal"],
        ")))",
    ]
    return "\n".join(lines)


def _seen(table):
    now = Seen(table["opening"], tuple(table["can"]), table.get("won", False))
    yield now
    for step in table["steps"]:
        can = sorted({*now.admissible, *step.get("new", ())} - {*step.get("gone", ())})
        now = Seen(step["see"], tuple(can), step.get("won", now.won))
        yield now


def play(engine, commands):
    """What an engine shows at the start, and after each command."""
    yield Seen(engine.reset(), tuple(engine.admissible()), engine.won)
    for command in commands:
        text = engine.step(command)
        yield Seen(text, tuple(engine.admissible()), engine.won)
