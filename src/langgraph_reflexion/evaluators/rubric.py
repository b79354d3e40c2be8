"""A rubric: criteria in words, each of which a model judges by itself."""

import re
from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from typing import Any, Literal

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import BaseMessage, SystemMessage
from langchain_core.runnables import RunnableConfig

from langgraph_reflexion.errors import ConfigurationError
from langgraph_reflexion.evaluators.base import Evaluator, Score
from langgraph_reflexion.loop.conversation import task_in_talk, with_pictures
from langgraph_reflexion.loop.prompting import Prompt, bounded_trial
from langgraph_reflexion.models.calls import CallId, note
from langgraph_reflexion.models.client import Client
from langgraph_reflexion.prompts import Prompts
from langgraph_reflexion.state import ReflexionState, Step

Met = Literal["yes", "no", "unknown"]

MOST_CRITERIA = 50
"""The number of criteria that a rubric has at most."""

LONGEST_CRITERION = 2000
"""Characters."""

LONGEST_QUOTATION = 300
"""Characters of a piece of evidence that the feedback shows."""

_ITEM = re.compile(r"^\s*(?:[-*•]|\d+[.)])\s+")
"""What marks an item of a list."""

_FIELD = re.compile(r"^(?!\s*\|)[\W_]*(criterion|evidence|missing|met)\b[\W_]*?:?\s*(.*)$", re.IGNORECASE)
"""A labelled line of a reply. One that begins with a bar quotes the trial."""


@dataclass
class CriterionVerdict:
    """What a judge says of a criterion."""

    evidence: str = ""
    """What in the trial shows it, in its words; empty if nothing does."""
    missing: str = ""
    """What is missing; empty if nothing is."""
    met: Met | None = None
    """The verdict; None if the judge has skipped it."""


class Rubric(Evaluator):
    """Criteria in words. A model says of each whether the trial meets it, with the evidence and what is missing.

    The score is the share of criteria that are met. The feedback lists what is missing, and what is met and has to
    stay so. A criterion that the judge skips is asked for once more; if it is skipped again, or cannot be judged from
    the trial, it counts as unverified, and so as not met.

    Args:
        criteria: A list of criteria, or a text: each item of a list in it is one, and otherwise the whole text.
        model: The judge; the model that reflects unless given.
        threshold: The share of criteria that has to be met.

    Raises:
        ConfigurationError: there are no criteria, or too many, or the threshold is not above 0 and at most 1.
    """

    label = "The rubric"

    def __init__(
        self,
        criteria: str | Sequence[str],
        *,
        model: BaseChatModel | str | None = None,
        threshold: float = 1.0,
    ) -> None:
        self.criteria = read_criteria(criteria)
        self.model = model
        self.threshold = threshold
        self._client: Client | None = None
        self._prompts: Prompts | None = None
        self._seed = 0
        if not self.criteria:
            raise ConfigurationError("Rubric.criteria is empty: give at least one criterion in words")
        if not 0 < threshold <= 1:
            raise ConfigurationError(f"Rubric.threshold={threshold}: the share of criteria is above 0, and at most 1")

    def bind(self, client: Client, prompts: Prompts, seed: int) -> "Rubric":
        """Return the rubric with the model that judges: its own, or the graph's."""
        bound = copy(self)
        bound._client = client
        if self.model is not None:
            bound._client = client.for_model(self.model)
        bound._prompts = prompts
        bound._seed = seed
        return bound

    async def evaluate(self, state: ReflexionState, config: RunnableConfig) -> Score:
        """Ask the model about all criteria, and once more about those that its reply skips."""
        client, prompts = self._client, self._prompts
        if client is None or prompts is None:
            raise ConfigurationError("a Rubric asks the model of the graph that it is given to as evaluator=")
        criteria = self.criteria
        verdicts: dict[int, CriterionVerdict] = {}
        for name in ("evaluate", "evaluate again"):
            asked = [number for number in range(1, len(criteria) + 1) if number not in verdicts]
            if not asked:
                break
            wanted = [criteria[number - 1] for number in asked]
            call = CallId(self._seed, state["task"]["id"], state["trial"], name)
            prompt = _prompt(state, wanted, client.model, prompts)
            reply = await prompt.ask(client, state["prompt_budget"], config, call)
            for place, verdict in read_verdicts(reply.text, len(wanted)).items():
                verdicts[asked[place - 1]] = verdict
        return self._score(criteria, verdicts)

    def _score(self, criteria: Sequence[str], verdicts: Mapping[int, CriterionVerdict]) -> Score:
        """Return the share of criteria that are met, and the feedback on each."""
        met: list[str] = []
        not_met: list[str] = []
        unverified: list[str] = []
        for number, criterion in enumerate(criteria, 1):
            verdict = verdicts.get(number, CriterionVerdict())
            if verdict.met == "yes":
                met.append(f"- {criterion}")
            elif verdict.met == "no":
                not_met.append(_explained(criterion, verdict))
            else:
                unverified.append(_explained(criterion, verdict))
                note(f"rubric: criterion {number} could not be judged, which counts as not met")
        share = len(met) / len(criteria)
        sections = [f"{len(met)} of {len(criteria)} criteria are met."]
        if not_met:
            sections.append("\n".join(["Not met:", *not_met]))
        if unverified:
            sections.append("\n".join(["The trial does not show whether these are met:", *unverified]))
        if met and (not_met or unverified):
            sections.append("\n".join(["Met, and to be kept so:", *met]))
        success = share >= self.threshold
        # Whether it would be enough with those that could not be judged.
        open_verdict = not success and (len(met) + len(unverified)) / len(criteria) >= self.threshold
        return Score(share, "\n\n".join(sections), success=success, unverified=open_verdict)


def _prompt(state: ReflexionState, criteria: Sequence[str], model: object, prompts: Prompts) -> Prompt:
    """Return the prompt on the finished trial."""

    def render(steps: list[Step], _: int) -> list[BaseMessage]:
        task = task_in_talk(state, prompts)
        trial = prompts.render("trial", observation=task, steps=bounded_trial(steps))
        rubric = SystemMessage(prompts.render("rubric", criteria=criteria))
        return [rubric, with_pictures(trial, state, model)]

    return Prompt(render, state["trajectory"])


def read_criteria(given: Any) -> list[str]:
    """Return the criteria of a list, or of a text: the items of the list in it, or else the whole text.

    Raises:
        ConfigurationError: it is neither, a criterion is empty or too long, or there are too many.
    """
    if isinstance(given, str):
        given = _items(given)
    if not isinstance(given, Sequence) or not all(isinstance(each, str) for each in given):
        raise ConfigurationError(f"a rubric is a text or a list of texts; got {given!r:.100}")
    criteria = [" ".join(each.split()) for each in given]
    for number, criterion in enumerate(criteria, 1):
        if not criterion:
            raise ConfigurationError(f"criterion {number} of the rubric is empty")
        if len(criterion) > LONGEST_CRITERION:
            raise ConfigurationError(
                f"criterion {number} of the rubric has {len(criterion)} characters, and may have {LONGEST_CRITERION}"
            )
    if len(criteria) > MOST_CRITERIA:
        raise ConfigurationError(f"the rubric has {len(criteria)} criteria, and may have {MOST_CRITERIA}")
    return criteria


def _items(text: str) -> list[str]:
    """Return the items of the list in a text, each with the lines that continue it; else the text itself."""
    items: list[str] = []
    for line in text.splitlines():
        if _ITEM.match(line):
            items.append(_ITEM.sub("", line))
        elif items and line.strip():
            items[-1] = f"{items[-1]} {line.strip()}"
    if items:
        return items
    if not text.strip():
        return []
    return [text.strip()]


def read_verdicts(reply: str, number: int) -> dict[int, CriterionVerdict]:
    """Return the verdicts in a reply by the number of the criterion, counted from 1, of which there are `number`.

    A criterion without a readable "Met" line is left out. Of two verdicts on one the last counts.
    """
    found: dict[int, CriterionVerdict] = {}
    current = CriterionVerdict()
    place = 1 if number == 1 else 0
    for line in reply.splitlines():
        matched = _FIELD.match(line)
        if matched is None:
            continue
        label = matched[1].lower()
        value = matched[2].strip().strip("*").strip()
        if label == "criterion":
            digits = re.match(r"\D{0,3}(\d+)", value)
            place = int(digits[1]) if digits else 0
            current = CriterionVerdict()
        elif label == "evidence":
            current.evidence = _unless_nothing(value)
        elif label == "missing":
            current.missing = _unless_nothing(value)
        else:
            current.met = _met(value)
            if current.met and 1 <= place <= number:
                found[place] = current
    return found


def _met(value: str) -> Met | None:
    """Return the verdict that a text begins with."""
    first = re.match(r"\W*(yes|no|unknown)\b", value, re.IGNORECASE)
    if first is None:
        return None
    word = first[1].lower()
    if word == "yes":
        return "yes"
    if word == "no":
        return "no"
    return "unknown"


def _unless_nothing(value: str) -> str:
    """Return a text; empty if it says that there is nothing."""
    if value.strip(" .\"'").lower() in ("", "none", "nothing", "n/a"):
        return ""
    return value


def _explained(criterion: str, verdict: CriterionVerdict) -> str:
    """Return a criterion that is not met with what the judge says of it, on one line."""
    words = [f"- {criterion}"]
    if verdict.missing:
        words.append(f"Missing: {verdict.missing[:LONGEST_QUOTATION]}")
    if verdict.evidence:
        words.append(f"Evidence: {verdict.evidence[:LONGEST_QUOTATION]}")
    return " ".join(words)
