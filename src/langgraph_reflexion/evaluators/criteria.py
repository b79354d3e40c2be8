"""The criteria of a rubric: read from texts and lists, which may come from a stranger."""

import re
from collections.abc import Sequence
from typing import Any

from langgraph_reflexion.envs.base import Task
from langgraph_reflexion.errors import ConfigurationError
from langgraph_reflexion.loop.context import in_context
from langgraph_reflexion.support.text import sanitize

MOST_CRITERIA = 50
"""The number of criteria that a rubric has at most."""

LONGEST_CRITERION = 2000
"""Characters."""

LONGEST_RUBRIC = 2 * MOST_CRITERIA * LONGEST_CRITERION
"""Characters of a text, with its marks and blanks."""

INPUT = "rubric"
"""The key of a task's `data`, and of the context, that holds the criteria of an input."""

_ITEM = re.compile(r"^\s*(?:[-*•]|\d+[.)])\s+")
"""What marks an item of a list."""

_HEADING = re.compile(r"^\s{0,3}#{1,6}\s")
"""What marks a heading of Markdown, which may be indented by three blanks at most."""


def criteria_of_input(task: Task) -> list[str]:
    """Return the criteria that come with an input; none if it has no rubric.

    They are a stranger's: a text or a list of texts, which can be criteria and nothing else.

    Raises:
        ConfigurationError: they are neither, or too many or too long.
    """
    # The context counts more than the task, as it belongs to this call alone.
    where = f"context: {INPUT}"
    given = in_context(INPUT)
    if given is None:
        where = f"data[{INPUT!r}] of the task {task['id']!r}"
        given = task.get("data", {}).get(INPUT)
    if given is None:
        return []
    try:
        criteria = read_criteria(given)
    except ConfigurationError as error:
        raise ConfigurationError(f"{where}: {error}") from error
    if not criteria:
        raise ConfigurationError(f"{where}: the rubric is empty")
    return criteria


def read_criteria(given: Any) -> list[str]:
    """Return the criteria of a list, or of a text: the items of the lists in it, and its other paragraphs.

    Raises:
        ConfigurationError: it is neither, a criterion is empty or too long, or there are too many.
    """
    if isinstance(given, str):
        # Before anything is read: it may be a stranger's.
        if len(given) > LONGEST_RUBRIC:
            raise ConfigurationError(f"the rubric has {len(given)} characters, and may have {LONGEST_RUBRIC}")
        given = _items(given)
    # Counted before the elements are read, as the list may be a stranger's, too.
    if isinstance(given, Sequence) and len(given) > MOST_CRITERIA:
        raise ConfigurationError(f"the rubric has {len(given)} criteria, and may have {MOST_CRITERIA}")
    if not isinstance(given, Sequence) or not all(isinstance(each, str) for each in given):
        raise ConfigurationError(f"a rubric is a text or a list of texts; got {given!r:.100}")
    criteria = [" ".join(sanitize(each).split()) for each in given]
    for number, criterion in enumerate(criteria, 1):
        if not criterion:
            raise ConfigurationError(f"criterion {number} of the rubric is empty")
        if len(criterion) > LONGEST_CRITERION:
            raise ConfigurationError(
                f"criterion {number} of the rubric has {len(criterion)} characters, and may have {LONGEST_CRITERION}"
            )
    return criteria


def _items(text: str) -> list[str]:
    """Return the items of the lists in a text and its other paragraphs, each with the lines that continue it.

    Headings, and what introduces a list by a colon, are left out.
    """
    paragraphs: list[list[str]] = []
    continues = False
    for line in text.splitlines():
        said = line.strip()
        if not said or _HEADING.match(line):
            continues = False
        elif _ITEM.match(line):
            paragraphs.append([_ITEM.sub("", line).strip()])
            continues = True
        elif continues:
            paragraphs[-1].append(said)
        else:
            paragraphs.append([said])
            continues = True
    items = [" ".join(lines) for lines in paragraphs]
    if len(items) == 1:
        # There is no list that it could introduce.
        return items
    return [item for item in items if not item.endswith(":")]
