"""A model that first makes a wrong edit, and after a reflection the right one."""

from functools import cache
from typing import NamedTuple

from langgraph_reflexion.envs.workspace.repositories import own_repositories

LESSON = "My edit of {path} was a guess, and verification failed. Next time I write `{right}` there."


class Mend(NamedTuple):
    """A mistake in a file, a line that does not help, and the right one."""

    path: str
    wrong: str
    useless: str
    right: str


MENDS = [
    Mend("code_.py", "return n + 2", "return n ** 3", "return n * 2"),
    Mend("prices.py", "result -= price", "result *= price", "result += price"),
]
"""The mistakes of the tests' own folders, and of the folder in the documentation."""


@cache
def mends():
    """Return every mistake that the script knows."""
    known = list(MENDS)
    for repository in own_repositories():
        defect = repository.defect
        known.append(Mend(defect.path, defect.wrong.strip(), f"{defect.wrong.strip()} ", defect.right.strip()))
    return known


def reply(messages):
    """Write a reflection, or the next action."""
    task = messages[1].text
    mend = next((each for each in mends() if each.path in task), None)
    if task.rstrip().endswith("Reflection:"):
        return LESSON.format(path=mend.path, right=mend.right) if mend else "I did not find the mistake."
    if mend is None:
        return _unchanged(len(messages) // 2 - 1)
    line = mend.right if LESSON.format(path=mend.path, right=mend.right) in task else mend.useless
    edit = f"edit_file[{mend.path}]\n<<<<<<< SEARCH\n{mend.wrong}\n=======\n{line}\n>>>>>>> REPLACE"
    steps = [f"read_file[{mend.path}]", edit, "submit[]"]
    return f"Thought: I look at {mend.path}.\nAction: {steps[len(messages) // 2 - 1]}"


def _unchanged(done):
    """Run the checks, and hand in what does not pass them."""
    steps = ["verify[]", "submit[]"]
    return f"Thought: I run the checks.\nAction: {steps[min(done, 1)]}"
