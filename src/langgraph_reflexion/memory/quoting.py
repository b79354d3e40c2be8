"""A lesson as data in a prompt: text from a model that may have read hostile pages."""

import json
import re

from langgraph_reflexion.memory.items import plain

SHOWN = 800
"""How many characters of a lesson are shown."""

_MARKS = re.compile(r"<(?=[|\uff5c/]|<SYS|s>|start_of_|end_of_)|\[(?=/?INST)", re.IGNORECASE)
"""Where the marks of chat formats begin."""


def quoted(text: str) -> str:
    """A lesson on one line, as a JSON string.

    So nothing in it ends the quotation, or stands at the beginning of a line as "Observation:" does, or passes for a
    mark that a server gives a meaning to.
    """
    line = " ".join(plain(text, SHOWN).split())
    return json.dumps(plain(_MARKS.sub(r"\g<0> ", line), SHOWN), ensure_ascii=False)
