"""The releases of ALFWorld's game files that the native engine supports.

A game file brings its own rules (a PDDL domain) and its own wording (a text grammar). They are the same in all files
of a release except for the task, so that their digest identifies the release. The original engine plays all others.
"""

import hashlib
import json
import re
from dataclasses import dataclass

from langgraph_reflexion.envs.alfworld.engine import Game, Syntax

HELP = """\
Available commands:
  look:                             look around your current location
  inventory:                        check your current inventory
  go to (receptacle):               move to a receptacle
  open (receptacle):                open a receptacle
  close (receptacle):               close a receptacle
  take (object) from (receptacle):  take an object from a receptacle
  move (object) to (receptacle):  place an object in or on a receptacle
  examine (something):              examine a receptacle or an object
  use (object):                     use an object
  heat (object) with (receptacle):  heat an object using a receptacle
  clean (object) with (receptacle): clean an object using a receptacle
  cool (object) with (receptacle):  cool an object using a receptacle
  slice (object) with (object):     slice an object using a sharp object
"""
"""The text of `help`; its `move` line is misaligned in the original."""

PREFIX = "Your task is to: "
_TASK = re.compile(r'("task"\s*:\s*\[\s*\{\s*"rhs"\s*:\s*)("(?:[^"\\]|\\.)*")')


@dataclass(frozen=True, slots=True)
class Release:
    """What differs between releases.

    Attributes:
        syntax: The wording: that of json_2.1.1 (`put`, "You arrive at loc 12", no `help`), or today's.
        sinks: The types of receptacle that objects are cleaned in.
    """

    syntax: Syntax = "move"
    sinks: tuple[str, ...] = ("sinkbasintype",)


RELEASES = {
    "77f4892e8e1e": Release("put", ("sinktype", "sinkbasintype")),  # json_2.1.1
    "b3fb37e3bdf8": Release("move", ("sinktype", "sinkbasintype")),  # json_2.1.2, fetched since ALFWorld 0.4
    "d098a6d79fcd": Release(),  # the domain and grammar in the wheel of ALFWorld 0.4.2
}
"""The releases, by the digest of a file's domain and grammar."""

UNKNOWN = "its rules or wording are not those of json_2.1.1, json_2.1.2 or ALFWorld 0.4.2"
"""Why the native engine cannot play a game of no known release."""


def task_text(grammar: str) -> str:
    """Return the line of a grammar that states the task; empty if there is none."""
    found = _TASK.search(grammar)
    if found is None:
        return ""
    # Not strict, so that a line end within the text is not an error.
    return str(json.loads(found[2], strict=False))


def release_of(game: Game) -> Release | None:
    """Return the release of a game; None if its rules or wording are those of no known one."""
    if game.domain is None or game.grammar is None:
        return Release()
    # Other characters may mean something in grammars.
    if not re.fullmatch(rf"{PREFIX}[\w ,.'-]+", task_text(game.grammar)):
        return None
    return RELEASES.get(digest(game.domain, game.grammar))


def digest(domain: str, grammar: str) -> str:
    """Return the digest of a file's domain and grammar, without the task."""
    text = domain + _TASK.sub(r"\1", grammar)
    return hashlib.sha256(" ".join(text.split()).encode()).hexdigest()[:12]
