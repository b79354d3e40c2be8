"""The reader of reflections: a short text, whatever a model writes around it."""

import re

from langgraph_reflexion.models.calls import note

LONGEST = 2_000
"""Characters of a reflection that are kept: every later prompt has to hold it."""

_LABEL = re.compile(r"\A\W*(?:(?:- )?(?:trial|reflection|lesson)[ \d]*:[\s*_]*)+", re.IGNORECASE)
_INVENTED = re.compile(
    r"^[ \t>*_#-]*(?:(?:thought|action|observation)[ \t\d]*:|status: |the trial that has just |"
    r"what you wr(?:o|i)te down after |the world has been put back |here is the task again|reflection:|--- )",
    re.IGNORECASE | re.MULTILINE,
)


def read_reflection(text: str) -> str:
    """Return the reflection in a reply, without empty lines and in at most `LONGEST` characters.

    Reasoning and labels are left out, and so is a transcript that the model invents after it. A reflection that is
    too long is cut at the end of a sentence, with a note in the trial's record.

    Args:
        text: The model's reply.
    """
    text = text.rpartition("</think>")[2][: 10 * LONGEST]
    said = _LABEL.sub("", text.strip())
    if (invented := _INVENTED.search(said)) and invented.start():
        said = said[: invented.start()]
    said = "\n".join(line.rstrip() for line in said.splitlines() if line.strip()) or text.strip()
    if len(said) <= LONGEST:
        return said
    note(f"the reflection is cut to {LONGEST} characters")
    cut = said[:LONGEST]
    end = max(cut.rfind(mark) for mark in (". ", "! ", "? "))
    return cut[: end + 1] if end > LONGEST // 2 else f"{cut.rpartition(' ')[0] or cut} ..."
