"""What code knows for certain about a failed trial, for its reflection and the next trial (`Memory(facts=True)`)."""

from collections import Counter
from collections.abc import Sequence

from langgraph_reflexion.envs.base import Environment
from langgraph_reflexion.envs.protocols import Factual
from langgraph_reflexion.memory.failure import calls_of, failure_facts, known_facts, repetitions, says_error
from langgraph_reflexion.state import UNANSWERED, ReflexionState, Step
from langgraph_reflexion.support.text import sanitize

MOST_FACTS = 12
"""Facts about a trial that prompts show."""
LONGEST_FACT = 300
"""Characters of each: its beginning."""
OFTEN = 3
"""How often an action has to be taken, with the same result, to be mentioned; a call of an agent's tool once less."""
MOST_REPEATED = 3
"""Repeated actions that are mentioned: those that were taken most often."""
REFUSED = "Invalid action:"
"""How an observation begins that refuses an action (`envs.actions.invalid_action`)."""


def facts_of(state: ReflexionState, environment: Environment) -> list[str]:
    """Return what is certain about a failed trial, in sentences: no model is asked, and nothing is a guess.

    These are the facts that every reflection gets (`failure_facts`), and what was repeated, refused and missed.

    Args:
        state: The state after the evaluation, with the trial's record.
        environment: The tasks; one that is `Factual` adds what it knows.
    """
    known = known_facts(state)
    if known is not None:
        return known
    facts = failure_facts(state, environment)
    if state.get("attempt"):
        facts += _of_calls(calls_of(state["trajectory"]))
    else:
        facts += _of_actions(calls_of(state["trajectory"]))
        if isinstance(environment, Factual):
            opening = state["episode"]["observation"]
            facts += environment.trial_facts(state["task"], opening, state["trajectory"])
    return [_bounded(fact) for fact in facts[:MOST_FACTS]]


def _of_actions(steps: Sequence[Step]) -> list[str]:
    """Return which actions were repeated without another result, and which were refused."""
    facts: list[str] = []
    told = _told_already(steps)
    for text, times in _repeated(steps, OFTEN):
        if text != told:
            facts.append(f'The action "{text}" was taken {times} times, each time with the same result.')
    refused: list[str] = []
    for step in steps:
        action = step["action"]
        # An action without a name has none of the valid forms: `failure` says that to every reflection.
        if action and action["name"] and step["observation"].startswith(REFUSED):
            refused.append(action["text"])
    if refused:
        facts.append(f'{len(refused)} of the {len(steps)} actions were refused, such as "{_line(refused[-1])}".')
    return facts


def _of_calls(steps: Sequence[Step]) -> list[str]:
    """Return which calls of tools were repeated without another result, and the last error of each tool."""
    facts: list[str] = []
    for text, times in _repeated(steps, OFTEN - 1):
        facts.append(f"The call {text} was made {times} times, each time with the same result.")
    errors: dict[str, str] = {}
    for step in steps:
        action = step["action"]
        if action and says_error(step):
            errors[action["name"]] = _line(step["observation"])
    for name, error in errors.items():
        facts.append(f'The last error of the tool {name} was "{error}".')
    return facts


def _repeated(steps: Sequence[Step], least: int) -> list[tuple[str, int]]:
    """Return the actions that were taken at least so often, always with the same result, and how often.

    The most frequent come first. An action with several results, such as a run of tests, has told something new.
    """
    times = Counter[str]()
    results: dict[str, set[str]] = {}
    unknown: set[str] = set()
    for step in steps:
        action = step["action"]
        if not action:
            continue
        text = _line(action["text"])
        times[text] += 1
        results.setdefault(text, set()).add(step["observation"])
        if step.get("partial") or step["observation"] == UNANSWERED:
            unknown.add(text)
    often: list[tuple[str, int]] = []
    for text, number in times.most_common():
        had_one_result = len(results[text]) == 1 and text not in unknown
        if number >= least and had_one_result:
            often.append((text, number))
    return often[:MOST_REPEATED]


def _told_already(steps: Sequence[Step]) -> str | None:
    """Return the last action if it was taken several times in a row, which every reflection is told."""
    taken = [step["action"] for step in steps if step["action"]]
    if repetitions(taken) > 1:
        return _line(taken[-1]["text"])
    return None


def _line(text: str) -> str:
    return " ".join(text.split())


def _bounded(fact: str) -> str:
    """Return a fact as prompts show it."""
    text = sanitize(fact)
    if len(text) <= LONGEST_FACT:
        return text
    return f"{text[:LONGEST_FACT].rstrip()} [...]"
