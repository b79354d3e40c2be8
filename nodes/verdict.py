"""A person decides about a verdict before the loop acts on it (`Approval.verdicts`)."""

from typing import Any, NamedTuple

from langgraph_reflexion.evaluators.base import result_in
from langgraph_reflexion.loop.conversation import result_of_trial
from langgraph_reflexion.nodes.approval import UnreadableEdit, ask_person
from langgraph_reflexion.state import Evaluation, ReflexionState, Update
from langgraph_reflexion.support.text import as_text, sanitize

OVERRULED = "a person overruled the verdict"
"""The end of the note on a trial whose verdict a person has changed."""
REWORDED = "a person changed the feedback"
"""The note on a trial whose verdict a person has kept, with other feedback."""
HOW = (
    "Approve keeps the verdict. Edit changes `success`, true or false, and `feedback`. Reject fails the trial, and "
    "your message is the feedback."
)
LONGEST_RESULT = 2000
"""Characters of the trial's result that the person sees."""


class Ruling(NamedTuple):
    """A person's verdict in place of the evaluator's."""

    success: bool
    feedback: str | None
    """None if none was given."""


def decided(state: ReflexionState, proposed: Evaluation, threshold: float) -> Update:
    """Return the evaluation after a person has decided about the evaluator's verdict, and the notes that say so.

    The first time this pauses the run; when the run is resumed, it returns.

    Args:
        state: The state at the end of the trial.
        proposed: The evaluation with the evaluator's verdict.
        threshold: The score from which on a trial is a success.
    """
    shown = {"success": proposed["success"], "feedback": proposed["feedback"]}
    answer = ask_person("verdict", shown, _description(state, proposed), _read_edit)
    if answer.rejected:
        ruling = Ruling(success=False, feedback=answer.reason or None)
    elif answer.edited:
        ruling = answer.edited
    else:
        return {"evaluation": proposed}
    evaluation = _overruled(proposed, ruling, threshold)
    note = _note(proposed, evaluation)
    notes = state["notes"]
    if note:
        notes = [*notes, note]
    return {"evaluation": evaluation, "notes": notes}


def _description(state: ReflexionState, proposed: Evaluation) -> str:
    """Return what a person needs to know about the trial, its verdict and the answers."""
    result = as_text(result_in(state)) or result_of_trial(state)
    lines = [f"Task: {state['task']['instruction']}", f"Trial {state['trial']}"]
    if result:
        lines.append(f"Result: {result[:LONGEST_RESULT]}")
    lines.append(f"Verdict: {_in_words(proposed)}")
    lines.append(HOW)
    return "\n".join(lines)


def _in_words(evaluation: Evaluation) -> str:
    """Return a verdict with its score, in words."""
    if evaluation.get("unverified"):
        return "unverified"
    verdict = "failed"
    if evaluation["success"]:
        verdict = "success"
    return f"{verdict}, score {evaluation['score']:g}"


def _read_edit(name: Any, args: Any) -> Ruling:
    """Return the verdict that an edit gives.

    Raises:
        UnreadableEdit: it gives none, or something else as well.
    """
    if not isinstance(args, dict):
        raise UnreadableEdit("`args` must be a dict with `success`, true or false, and `feedback`, a text.")
    unknown = [repr(key) for key in args if key not in ("success", "feedback")]
    if unknown:
        raise UnreadableEdit(f"`args` has the keys `success` and `feedback`; remove {', '.join(unknown):.200}.")
    success = _as_bool(args.get("success"))
    if success is None:
        raise UnreadableEdit(f"`success` must be true or false; got {args.get('success')!r:.100}.")
    feedback = args.get("feedback")
    if feedback is not None and not isinstance(feedback, str):
        raise UnreadableEdit(f"`feedback` must be a text; got {feedback!r:.100}.")
    return Ruling(success, feedback)


def _as_bool(given: Any) -> bool | None:
    """Return true or false; None if it is neither."""
    # A front end whose fields are texts sends what was typed.
    if isinstance(given, str):
        return {"true": True, "false": False}.get(given.strip().lower())
    if isinstance(given, bool):
        return given
    return None


def _overruled(proposed: Evaluation, ruling: Ruling, threshold: float) -> Evaluation:
    """Return an evaluation with a person's verdict, and a score that goes with it."""
    keeps_verdict = ruling.success == proposed["success"]
    score = proposed["score"]
    if not keeps_verdict:
        score = 0.0
        if ruling.success:
            score = max(proposed["score"], threshold)
    feedback = ruling.feedback
    if feedback is None:
        # The evaluator's words speak for its own verdict only.
        feedback = ""
        if keeps_verdict:
            feedback = proposed["feedback"]
    return Evaluation(success=ruling.success, score=score, feedback=sanitize(feedback))


def _note(proposed: Evaluation, evaluation: Evaluation) -> str:
    """Return the note on what a person has changed; empty if that is nothing."""
    if evaluation["success"] != proposed["success"] or proposed.get("unverified"):
        return f"{_in_words(proposed)}: {OVERRULED}"
    if evaluation["feedback"] != proposed["feedback"]:
        return REWORDED
    return ""
