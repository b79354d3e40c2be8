"""The demo model in a workspace: it repairs code without understanding the program.

It runs the checks, reads the failing tests and the code that they reach, and tries small edits, with the checks after
each. Its mistakes have reasons:

* It fixates: it tries all edits of a line before it looks at another one.
* It is impatient, depending on the task, and submits although tests fail; or it is stubborn, and runs out of actions.
* It submits an edit that helps in part, until a reflection speaks of one.

Its reflections name the edits that it tried, so that the next trial tries others, and a little longer.
"""

import math
import re
from random import Random

from langgraph_reflexion.lab.demo.persona import Act, habit
from langgraph_reflexion.lab.demo.prompt import Prompt
from langgraph_reflexion.lab.demo.workspace.edits import candidates, is_test
from langgraph_reflexion.lab.demo.workspace.world import NOTHING_RUNS, Try, Workshop, note, noted, read_workshop

PATIENCE = (1, 3)
"""Minimum and maximum number of edits in the first trial."""
STUBBORN = 0.15
"""Share of tasks at which it never gives up."""
HASTY = 0.5
"""Share of tasks at which it submits an edit that helps in part."""
STRAYS = 0.03
"""Probability of skipping an edit."""
IN_PART = "it helped in part"
MOST_TESTS, MOST_SOURCES = 2, 4
"""Number of files that it reads of each sort."""
_ASIDE = re.compile(r"(?:^|/)(?:__init__\.py|conftest\.py|setup\.py|build\.rs|[\w.]+\.config\.\w+)$")

Step = tuple[str, str, dict[str, str]]


def recognises(prompt: Prompt) -> bool:
    """Return whether a prompt is about a workspace."""
    return "It is solved when verification succeeds: " in prompt.opening


def act(prompt: Prompt, rng: Random) -> Act:
    """Return the next action, as text in the form that the instruction gives."""
    thought, name, args = _step(prompt, rng)
    form = re.search(rf"^- ({name}\b.*?)(?=\n- |\n\n|\Z)", prompt.system, re.MULTILINE | re.DOTALL)
    text = re.sub(r"\{(\w+)\}", lambda match: args.get(match[1], ""), form[1]) if form else name
    return Act(thought, name, args, text)


def _step(prompt: Prompt, rng: Random) -> Step:
    shop = read_workshop(prompt.opening, prompt.turns)
    if not shop.checked:
        return "I check whether that helps.", "verify", {}
    if not shop.outcomes:
        return "I look at what fails.", "verify", {}
    failed = shop.outcomes[-1].failed
    if not failed:
        return "All checks pass now.", "submit", {}
    so_far = f"{failed} test{' fails' if failed == 1 else 's fail'}."
    if failed >= NOTHING_RUNS:
        so_far = "Nothing runs any more."
    if not shop.listed and not shop.looked:
        return f"{so_far} I see which files there are.", "list_files", {"folder": "."}
    if (path := _to_read(shop)) is not None:
        return f"{so_far} I read {path}.", "read_file", {"path": path}
    return _repair(prompt, shop, failed, so_far, rng)


def _repair(prompt: Prompt, shop: Workshop, failed: int, so_far: str, rng: Random) -> Step:
    first = shop.outcomes[0]
    known = noted(prompt.reflections)
    warned = any(IN_PART in what for what in known.values())
    if shop.now and failed < first.failed and not warned and habit(prompt.opening, "hasty") < HASTY:
        return f"{so_far} It gets better, and the rest will follow.", "submit", {}
    done = set(map(_key, shop.tried))
    left = [edit for edit in candidates(shop.files, first, known) if _key(edit) not in done]
    # Each reflection on this work makes it hand in one edit later.
    learned = sum(any(edit.path in shop.files for edit in noted([lesson])) for lesson in prompt.reflections)
    if not left or len(shop.tried) >= _patience(prompt.opening) + learned:
        return f"{so_far} I have tried {len(shop.tried)} edits, and leave it at that.", "submit", {}
    edit = left[1] if len(left) > 1 and rng.random() < STRAYS else left[0]
    now = shop.now
    if now and (now.path, now.number) != (edit.path, edit.number):
        line = shop.line(now.path, now.number)
        thought = f"{so_far} That was not it. I put line {now.number} of {now.path} back to: {line}"
        edit = Try(now.path, now.number, line)
    else:
        thought = f"{so_far} I change line {edit.number} of {edit.path} to: {edit.line}"
    old, new = shop.replacing(edit.path, edit.number, edit.line)
    return thought, "edit_file", {"path": edit.path, "old": old, "new": new}


def _to_read(shop: Workshop) -> str | None:
    """Return the next file to read: failing tests first, then the files that they mention."""
    first = shop.outcomes[0]
    tests = [path for path in shop.listed if is_test(path)]
    named = [path for path in tests if any(said.endswith(path) for said, _ in first.places)]
    read = [path for path in shop.files if is_test(path)]
    for path in named or tests:
        if path not in shop.files and len(read) < MOST_TESTS:
            return path
    sources = [path for path in shop.listed if not is_test(path) and not _ASIDE.search(path)]
    unread = [path for path in sources if path not in shop.files]
    if len(sources) - len(unread) >= MOST_SOURCES:
        return None
    words = set(re.findall(r"\w+", "\n".join(line for lines in shop.files.values() for line in lines)))
    for path in unread:
        stem = path.rpartition("/")[2].partition(".")[0]
        if stem in words or any(said.endswith(path) for said, _ in first.places):
            return path
    return unread[0] if len(unread) == len(sources) and unread else None


def reflect(prompt: Prompt, rng: Random) -> str:
    """List the edits that did not help."""
    shop = read_workshop(prompt.opening, prompt.turns)
    notes = dict(noted(prompt.reflections))
    notes |= {edit: _came_to(failed, shop.first) for edit, failed in shop.tried.items()}
    if not notes:
        return "I did not come to try anything. Next time I will run the checks, read what fails, and try an edit."
    ended = "I ran out of actions" if not shop.handed_in else "I handed in my work although tests failed"
    lines = "\n".join(note(edit, what) for edit, what in notes.items())
    return (
        f"{ended}, and had looked too long at one place. These edits did not solve it. Next time I will leave them "
        f"alone and try others, first at another line:\n{lines}"
    )


def _came_to(failed: int | None, first: int | None) -> str:
    if failed is None or first is None:
        return "no use"
    if failed >= NOTHING_RUNS:
        return "it broke the program"
    if failed < first:
        return f"{IN_PART}, {failed} instead of {first} failed"
    return f"it did not help, {failed} failed"


def judge(prompt: Prompt) -> str:
    """Say whether the last checks passed."""
    shop = read_workshop(prompt.opening, prompt.turns)
    if not shop.outcomes or not shop.checked:
        return "The checks have not run since the last edit.\nVerdict: no"
    failed = shop.outcomes[-1].failed
    return f"The checks {'fail' if failed else 'pass'} at the end.\nVerdict: {'no' if failed else 'yes'}"


def _key(edit: Try) -> tuple[str, int, str]:
    return edit.path, edit.number, " ".join(edit.line.split())


def _patience(task: str) -> float:
    low, high = PATIENCE
    stubborn = habit(task, "stubborn") < STUBBORN
    return math.inf if stubborn else low + int(habit(task, "patience") * (high - low + 1))
