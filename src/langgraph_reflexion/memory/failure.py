"""What is known of a failed trial: what it handed in, what the check said, and facts that code can see."""

import re
from collections import Counter
from collections.abc import Mapping
from typing import Any, cast

from langgraph_reflexion.envs.base import Action, Environment
from langgraph_reflexion.envs.protocols import SupportsFacts
from langgraph_reflexion.loop.profiles import Rules
from langgraph_reflexion.memory.useful import was_rejected
from langgraph_reflexion.state import Evaluation, ReflexionState, Step, Strategy
from langgraph_reflexion.support.choices import Feedback
from langgraph_reflexion.support.copies import digest_of
from langgraph_reflexion.support.text import as_text, count

LONGEST_CHECK = 500
"""Characters of the check's words that a prompt shows: their beginning and their end."""
LONGEST_ANSWER = 500
"""Characters of an answer that the self-reflection sees: its end."""
NOT_ACCEPTED = "Not accepted; no reason was given."
"""What is shown of a check that said nothing, or whose words are not to be shown."""
FAILURES = 2
"""How often a tool has to fail to be mentioned."""

STOPPED = {
    "hallucination": "the same steps were repeated",
    "inefficient planning": "it took more actions than allowed",
    "truncated": "the environment allows no more",
    "budget": "its budget was used up",
}
"""Why a trial was stopped before its own end, by its stop reason: the end of a sentence in the reflection's prompt.

`evaluators.base.STOPPED` says it to the evaluation's reader, in sentences of their own, and also of trials that ended
by themselves. The two are prompts with different wordings, so neither can be made of the other.
"""

KNOWN_FACTS = "known_facts"
"""The key of the facts in the state of a queued trial, whose task has lost the data that an environment reads."""

_DRAWN = re.compile(r"([=\-_*#~ ])\1{19,}")
"""A line that is drawn, or a gap that aligns what follows."""
_ERROR = re.compile(
    r"""\W*(?:
    # A name before a colon or its arguments, but not a field that says that there is none.
    [a-z]*(?:error|exception)["'*]*\s*[:(\]](?!\s*(?:null|none|false|0|""|''|\[\]|\{\})\s*(?:[,}\]\n]|$))
    # The beginning of a sentence, and not of a page about errors.
    | (?:error|exception)(?:[!*]|\s*$|\s*\n|\s-\s|\s\d{3}\b|\s(?:while|occurred|during|no)\b|\s(?!handling\b)\w+ing\b)
    | traceback\ \(most\ recent
    )""",
    re.IGNORECASE | re.VERBOSE,
)
"""How a result begins that reports an error."""


def check_words(evaluation: Evaluation | None, feedback: Feedback) -> str:
    """Return what the check of a failed trial said, verbatim and bounded; empty without an evaluation.

    Args:
        evaluation: The evaluation of the trial.
        feedback: How much of it may be shown. With `binary`, that is only that the trial was not accepted.
    """
    if evaluation is None:
        return ""
    if evaluation.get("unverified"):
        # That nothing was judged is not a judgement that `feedback` could hide.
        feedback = "words"
    if feedback == "binary":
        return NOT_ACCEPTED
    words = evaluation["feedback"].strip()
    if feedback == "scalar" or not words:
        score = evaluation["score"]
        if not score:
            return NOT_ACCEPTED
        return f"{NOT_ACCEPTED} The score was {score:g}."
    if len(words) > LONGEST_CHECK:
        # A drawn line would push words out.
        words = _DRAWN.sub(r"\1\1\1", words)
    if len(words) <= LONGEST_CHECK:
        return words
    half = LONGEST_CHECK // 2
    return f"{words[:half].rstrip()} [...] {words[-half:].lstrip()}"


def has_reason(evaluation: Evaluation | None, feedback: Feedback) -> bool:
    """Return whether the check said why it did not accept the trial, and this may be shown."""
    return feedback == "words" and evaluation is not None and bool(evaluation["feedback"].strip())


def check_for_next_trial(state: ReflexionState, rules: Rules) -> str:
    """Return what the next trial sees of the check's words, apart from the status of a last attempt.

    The words stand alone where the strategy is `feedback`, and where the reflection on the last trial was useless.
    """
    strategy = Strategy(rules.strategy)
    shown = strategy == Strategy.FEEDBACK
    if strategy.reflects:
        rejected = bool(state["trials"]) and was_rejected(state["trials"][-1]["notes"])
        shown = rules.shows_check or rejected
    if not shown:
        return ""
    return check_words(state["evaluation"], rules.feedback)


def failure(state: ReflexionState, environment: Environment) -> dict[str, Any]:
    """Return what a template shows of a failed trial beside its steps: an agent's `answer`, and `facts`."""
    answer = answer_of(state)
    if len(answer) > LONGEST_ANSWER:
        answer = f"[...] {answer[-LONGEST_ANSWER:]}"
    return {"answer": answer, "facts": failure_facts(state, environment)}


def failure_facts(state: ReflexionState, environment: Environment) -> list[str]:
    """Return the facts about a failed trial that every reflection gets."""
    known = known_facts(state)
    if known is not None:
        return known
    if state.get("attempt"):
        return attempt_facts(state)
    facts: list[str] = []
    if isinstance(environment, SupportsFacts):
        facts += environment.facts(state["task"], state["trajectory"])
    facts += trial_facts(state)
    return facts


def known_facts(state: ReflexionState) -> list[str] | None:
    """Return the facts about a queued trial, which were found when it was queued; None for any other trial."""
    facts: list[str] | None = cast(Mapping[str, Any], state).get(KNOWN_FACTS)
    return facts


def calls_of(steps: list[Step]) -> list[Step]:
    """Return the steps that have an action."""
    return [step for step in steps if step["action"]]


def answer_of(state: ReflexionState) -> str:
    """Return the answer of a wrapped agent's trial; empty in an environment, where the last action is the answer."""
    attempt = state.get("attempt")
    if not attempt:
        return ""
    return as_text(attempt["result"]).strip()


def trial_facts(state: ReflexionState) -> list[str]:
    """Return what is certain about a trial in any environment, in sentences."""
    facts = []
    taken = [step["action"] for step in state["trajectory"] if step["action"]]
    times = repetitions(taken)
    if times > 1:
        last = taken[-1]["text"]
        facts.append(f'The last action, "{last}", was taken {times} times in a row.')
    # An action that could not be read has no name.
    unknown = [action["text"] for action in taken if not action["name"]]
    if unknown:
        share = f"{len(unknown)} of the {len(taken)} actions"
        facts.append(f'{share} did not have the form of any action here, such as "{unknown[-1]}".')
    reason = state["stop_reason"]
    actions = count(len(taken), "action")
    if reason in STOPPED:
        facts.append(f"The trial was stopped after {actions}, because {STOPPED[reason]}.")
    elif reason and reason != "terminated":
        # A heuristic of the user's gives its own.
        facts.append(f"The trial was stopped after {actions} ({reason}).")
    return facts


def repetitions(taken: list[Action]) -> int:
    """Return how many times in a row the last action was taken."""
    times = 0
    for action in reversed(taken):
        if action["text"] != taken[-1]["text"]:
            break
        times += 1
    return times


def attempt_facts(state: ReflexionState) -> list[str]:
    """Return what is certain about a trial of an agent, in sentences."""
    facts = []
    answer = answer_of(state)
    answers = state.get("answers", [])
    digest = digest_of(answer)
    if answer and digest in answers:
        # `reflect` has added one digest for each failed attempt, in their order.
        earlier = answers.index(digest) + 1
        facts.append(f"The answer is the same as in failed attempt {earlier}.")
    calls = calls_of(state["trajectory"])
    # The last record is that of this attempt. An agent that never calls a tool may have none.
    called_before = any(record["actions"] for record in state["trials"][:-1])
    if not calls and called_before:
        facts.append("No tool was called in this attempt.")
    attempt = state.get("attempt")
    if attempt and attempt.get("cut_off"):
        facts.append("The answer was cut off, because it reached the limit of a reply.")
    reason = state["stop_reason"]
    if reason and reason != "terminated":
        made = count(len(calls), "tool call")
        facts.append(f"The attempt was stopped after {made} ({reason}).")
    for name, times in _failures(calls).items():
        if times >= FAILURES:
            facts.append(f"The tool {name} failed {times} times.")
    return facts


def _failures(calls: list[Step]) -> Counter[str]:
    """Return how often each tool has failed, as far as its results say so."""
    failed = Counter[str]()
    for step in calls:
        action = step["action"]
        if action and says_error(step):
            failed[action["name"]] += 1
    return failed


def says_error(step: Step) -> bool:
    """Return whether the result of a tool's call says that it has failed: by its status, or in its first words."""
    if step.get("failed"):
        return True
    return _ERROR.match(step["observation"]) is not None
