"""Checks that every environment must pass.

In a script, or in one test:

    check_environment(MyEnvironment(), actions=["open door", "go north"], limit=50)

With pytest, one test for each check:

    @pytest.mark.parametrize("check", CHECKS.values(), ids=CHECKS)
    def test_conformance(check):
        check(Case.of(MyEnvironment(), actions=["open door", "go north"], limit=50))

A failed check raises `AssertionError` with the expected behaviour. Checks take real steps in real episodes.
"""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from functools import wraps
from typing import Any

from pydantic import ValidationError

from langgraph_reflexion.envs.actions import fill
from langgraph_reflexion.envs.base import (
    Action,
    ActionSpec,
    Environment,
    ObservedStep,
    ShownAction,
    StepResult,
    Task,
    prompts_of,
)
from langgraph_reflexion.envs.grammar import action_forms, parse_action, shown_actions, tool_schemas
from langgraph_reflexion.envs.load import tasks_of
from langgraph_reflexion.envs.pool import EpisodePool, call_blocking
from langgraph_reflexion.envs.protocols import (
    Factual,
    SupportsFacts,
    SupportsFinalAnswer,
    SupportsGoOn,
    SupportsMemoryMap,
    is_replayable,
)
from langgraph_reflexion.errors import ConfigurationError
from langgraph_reflexion.prompts import Example, ExampleStep, Prompts, ReflectionExample, contains
from langgraph_reflexion.support.sync import run_blocking
from langgraph_reflexion.testing.case import (
    Case,
    Played,
    difference,
    first_snapshot,
    largest_gap,
    made_up,
    parsed,
    played,
    pooled,
    rendered,
    specs,
)

__all__ = ["CHECKS", "Case", "check_environment"]

LONGEST_GAP = 0.25
"""Seconds for which an environment may block the event loop."""

_NONSENSE = Action(name="no_such_action", args={}, text="frobnicate the foo")


def check_environment(
    environment: Environment,
    *,
    task: Task | None = None,
    actions: Sequence[Action | str] | None = None,
    limit: int | None = None,
) -> None:
    """Run all checks on an environment, and close it.

    Args:
        environment: The environment.
        task: The task to play; the first one unless given.
        actions: The actions to take in it, as objects or as text: best of all kinds, and too few to end the episode.
            Unless given, each action once, with generated arguments.
        limit: Steps after which the environment truncates an episode, if it does. The check repeats the first action.

    Raises:
        AssertionError: a check failed; the message begins with its name.
        ConfigurationError: the tasks or the actions are defined wrongly.
    """
    case = Case.of(environment, task=task, actions=actions, limit=limit)
    try:
        for check in CHECKS.values():
            check(case)
    finally:
        call_blocking(environment, environment.close)
    call_blocking(environment, environment.close)  # closing twice is fine


def tasks_are_stable(case: Case) -> None:
    """Tasks are plain JSON with unique ids, always the same ones, and a limit gives the first of them."""
    tasks = tasks_of(case.environment)
    _require(bool(tasks), "the default split has no tasks")
    _require(json.loads(json.dumps(tasks)) == tasks, "tasks change on a round trip through JSON")
    _require(all(task["instruction"].strip() for task in tasks), "a task has no instruction")
    _require(list(case.environment.tasks()) == tasks, "tasks() returns different tasks when called twice")
    for limit in {0, 1, len(tasks) // 2, len(tasks), len(tasks) + 1}:
        limited = list(case.environment.tasks(limit=limit))
        _require(limited == tasks[:limit], f"tasks(limit={limit}) is not a prefix of tasks()")
    first = case.environment.splits[0]
    _require(list(case.environment.tasks(first, 1)) == tasks[:1], "the default split is not the first of `splits`")
    try:
        case.environment.tasks("no such split")
    except ConfigurationError:
        return
    raise AssertionError("an unknown split must raise ConfigurationError: call self.choose_split(split) in tasks()")


_FAILED: dict[str, Any] = {
    "calls": [],
    "answer": "",
    "check": "",
    "has_reason": False,
    "facts": [],
    "again": "",
    "goal": "",
}
"""What `failed_trial.md` is given beside the trial."""


def models_are_shown_the_task(case: Case) -> None:
    """The prompts of actor, reflection and evaluator render, and contain the task's instruction."""
    environment = case.environment
    task = case.task
    _require(bool(task["instruction"].strip()), f"the task {task['id']!r} has no instruction")
    prompts = prompts_of(environment)
    first_observation, _ = played(replace(case, actions=[]))
    opening = {"instruction": task["instruction"], "observation": first_observation}
    _require(
        contains(rendered(prompts, "opening", opening), task["instruction"]),
        f"opening.md in {prompts.folder} does not show the task: it lacks {{{{ instruction }}}}",
    )
    shown = prompts.opening(**opening)
    for name, values in _values_by_template(task["instruction"], shown).items():
        text = rendered(prompts, name, values)
        # Templates that show a whole trial quote the task.
        unquoted = re.sub(r"^\| ?", "", text, flags=re.MULTILINE)
        _require(
            contains(text, task["instruction"]) or contains(unquoted, task["instruction"]),
            f"{name}.md in {prompts.folder} does not show the task: it lacks {{{{ observation }}}}",
        )
    _all_others_render(prompts, shown_actions(environment, task))


def _values_by_template(instruction: str, opening: str) -> dict[str, dict[str, Any]]:
    """Return values for the templates that show a task, after one trial of one step."""
    steps = [{"number": 1, "thought": "I begin.", "action": _NONSENSE, "observation": "So be it."}]
    reflections = [{"trial": 1, "text": "I was too fast."}]
    status = "Status: FAILED"
    actor = {
        "observation": opening,
        "reflections": reflections,
        "status": status,
        "instruction": instruction,
        "last_attempt": steps,
        "check": "",
    }
    failed_trial = {
        "observation": opening,
        "steps": steps,
        "reflections": reflections,
        "status": status,
        "memory_map": "",
    }
    failed_trial.update(_FAILED)
    return {
        "task": actor,
        "task_attempt_first": actor,
        "trial": {"observation": opening, "steps": steps},
        "failed_trial": failed_trial,
    }


def _all_others_render(prompts: Prompts, actions: Sequence[ShownAction]) -> None:
    """Render the templates that do not show a task; raise AssertionError with the place of an error."""
    step = ExampleStep("I begin.", _NONSENSE["text"], "So be it.")
    values: dict[str, Any] = {
        "actions": actions,
        "examples": [Example("A room.", (step,))],
        "solved": 0,
        "numbered": True,
    }
    for in_text in (True, False):
        values["in_text"] = in_text
        rendered(prompts, "act", values)
    values["in_text"] = True
    rendered(prompts, "act_in_two", values)
    reflection = ReflectionExample("A room.", (step,), "I was too fast.")
    rendered(prompts, "reflect", {"examples": [reflection], "unjudged": False})
    rendered(prompts, "judge", {})
    rendered(prompts, "facts", {"facts": ["Nothing was seen."]})
    rendered(prompts, "go_on", {"status": "Status: FAILED"})


def tools_have_schemas(case: Case) -> None:
    """Each action is a tool with a description and a JSON schema."""
    tools = tool_schemas(case.environment)
    _require(json.loads(json.dumps(tools)) == tools, "the tool schemas are not plain JSON")
    names = [tool["function"]["name"] for tool in tools]
    _require(names == [spec.name for spec in specs(case.environment)], "tools and actions have different names")
    for tool in tools:
        name = tool["function"]["name"]
        parameters = tool["function"]["parameters"]
        _require(bool(re.fullmatch(r"[a-zA-Z_][\w-]{0,63}", name)), f"{name!r} cannot name a tool")
        _require(bool(tool["function"]["description"].strip()), f"{name} has no description: write a docstring")
        _require(parameters["type"] == "object", f"the parameters of {name} must be an object")
        for field, schema in parameters["properties"].items():
            known = {"type", "anyOf", "oneOf", "allOf", "enum", "const", "$ref"} & set(schema)
            _require(bool(known), f"the schema of {name}, {field} has no type: {schema}")


def text_forms_parse_back(case: Case) -> None:
    """Each text form of an action is parsed back as that action."""
    environment = case.environment
    for spec, shown in zip(specs(environment), shown_actions(environment, case.task), strict=True):
        values = made_up(spec)["args"]
        given = [action["args"] for action in case.actions if action["name"] == spec.name]
        for args in given or [values]:
            # What an action leaves out has a default.
            values.update(args)
            _require_allowed(spec, values)
            for form in spec.forms:
                _reads_as(environment, spec, form, values)
        read = parse_action(environment, fill(shown.form, values))
        _require(read is not None and read["name"] == spec.name, f"{shown.form!r} is shown, but not parsed")
    _require(parse_action(environment, _NONSENSE["text"]) is None, "nonsense is parsed as an action")


def same_actions_same_observations(case: Case) -> None:
    """The same actions give the same observations, except in episodes with snapshots or that cannot be rebuilt."""
    if is_replayable(case.environment) and first_snapshot(case) is None:
        first = played(case)
        second = played(case)
        _require(first == second, difference("the same actions gave other results", first[1], second[1]))


def replay_equals_live(case: Case) -> None:
    """An empty pool rebuilds an episode from its history, or from its snapshot, which is JSON."""

    async def compare() -> None:
        live, snapshots = await pooled(case)
        if not is_replayable(case.environment):
            return
        # The first step, one in the middle, and the last one.
        for index in sorted({0, len(case.actions) // 2, len(case.actions) - 1}):
            written = json.loads(json.dumps(snapshots[index]))
            _require(written == snapshots[index], "a snapshot changes on a round trip through JSON")
            pool = EpisodePool(case.environment)
            again = await pool.step(case.task, case.actions[:index], case.actions[index], written)
            await pool.aclose()
            differs = difference(f"rebuilt before step {index + 1}", live[index:][:1], [again.result])
            _require(again.result == live[index], differs)

    run_blocking(compare())


def invalid_actions_are_observations(case: Case) -> None:
    """An invalid action is answered with the allowed ones, and changes nothing."""
    _, expected = played(case)
    invalid = [_NONSENSE, Action(name="", args={}, text="I am not sure.")]
    for spec in specs(case.environment):
        if spec.required:
            invalid.append(Action(name=spec.name, args={}, text=spec.name))
            invalid.append(Action(name=spec.name, args={"no_such_argument": [1]}, text=spec.name))
    episode = Played(case)
    for action in invalid:
        result = episode.step(action)
        _require(not (result.terminated or result.truncated), f"{action} ended the episode")
        for form in action_forms(case.environment, case.task):
            _require(form in result.observation, f"the observation after {action} does not name {form!r}")
    results = [episode.step(action) for action in case.actions]
    episode.close()
    if is_replayable(case.environment) and first_snapshot(case) is None:
        _require(results == expected, difference("after invalid actions", expected, results))


def limits_truncate(case: Case) -> None:
    """An episode is truncated at its limit unless it ended before; an ended episode stays ended."""
    if case.limit is None:
        return
    episode = Played(case)
    result = StepResult("")
    for index in range(case.limit):
        _require(not result.truncated, f"truncated after {index} steps, not {case.limit}")
        result = episode.step(case.actions[0])
        if result.terminated:
            break
    _require(result.truncated or result.terminated, f"neither truncated nor terminated after {case.limit} steps")
    after = episode.step(case.actions[0])
    same = (after.terminated, after.truncated) == (result.terminated, result.truncated)
    _require(same, "an ended episode continues")
    episode.close()


def closing_twice_is_fine(case: Case) -> None:
    """An episode can be closed twice, before its first step and after its last."""
    for actions in ([], case.actions):
        episode = Played(case)
        for action in actions:
            episode.step(action)
        episode.close()
        episode.close()


def event_loop_stays_free(case: Case) -> None:
    """Other coroutines run while the pool starts an episode and takes steps."""
    # A busy machine makes gaps of its own: the best of three counts.
    for _ in range(3):
        gap = run_blocking(largest_gap(case))
        if gap < LONGEST_GAP:
            return
    raise AssertionError(
        f"the event loop was blocked for {gap:.2f} s: is `blocking` False by mistake, or does an "
        "asynchronous environment block instead of awaiting?"
    )


def ended_trials_go_on(case: Case) -> None:
    """Where a trial can go on, the snapshot after its last action is enough, and gives the same episode each time."""
    environment = case.environment
    if not isinstance(environment, SupportsGoOn):
        return
    with closing(Played(case)) as episode:
        for action in case.actions:
            episode.step(action)
        snapshot = episode.snapshot()
    if snapshot is None:
        raise AssertionError("the episode has no snapshot after its last action, so nothing can go on")
    _require(json.loads(json.dumps(snapshot)) == snapshot, "a snapshot changes on a round trip through JSON")
    results = []
    for _ in range(2):
        going_on = call_blocking(environment, environment.go_on, case.task, snapshot)
        results.append(call_blocking(environment, going_on.step, case.actions[0]))
        call_blocking(environment, going_on.close)
    _require(results[0] == results[1], difference("going on twice", results[:1], results[1:]))


def final_answers_are_texts(case: Case) -> None:
    """The answer that an action hands in is a text, always the same one; other actions hand in none."""
    if not isinstance(case.environment, SupportsFinalAnswer):
        return
    answer_of = case.environment.final_answer
    _require(answer_of(case.task, _NONSENSE) is None, f"{_NONSENSE} hands in an answer")
    for action in case.actions:
        answer = answer_of(case.task, action)
        _require(answer is None or isinstance(answer, str), f"the answer of {action} is not a text: {answer!r}")
        _require(answer == answer_of(case.task, action), f"asked twice, the answer of {action} differs")


def facts_are_sentences(case: Case) -> None:
    """What is certain about a trial is a list of sentences, always the same ones; the arguments stay as they are."""
    environment = case.environment
    if not isinstance(environment, (SupportsFacts, Factual)):
        return
    opening, results = played(case)
    steps = _observed(case, results)
    before = json.dumps(steps)
    if isinstance(environment, SupportsFacts):
        _require_sentences("facts", environment.facts(case.task, steps), environment.facts(case.task, steps))
    if isinstance(environment, Factual):
        once = environment.trial_facts(case.task, opening, steps)
        _require_sentences("trial_facts", once, environment.trial_facts(case.task, opening, steps))
    _require(json.dumps(steps) == before, "the steps are changed")


def memory_maps_go_by_texts(case: Case) -> None:
    """A memory map is deterministic, changes none of its arguments, and keeps plain JSON."""
    if not isinstance(case.environment, SupportsMemoryMap):
        return
    opening, results = played(case)
    steps = _observed(case, results)
    draw = case.environment.memory_map
    known: Mapping[str, Any] = {}
    before = json.dumps(steps)
    for trial in (1, 2):
        drawn = draw(case.task, opening, steps, known)
        _require(drawn == draw(case.task, opening, steps, known), f"drawn twice in trial {trial}, it differs")
        _require(json.dumps(steps) == before, "it changes its argument `steps`")
        _require(json.loads(json.dumps(drawn.known)) == drawn.known, "`known` is not plain JSON")
        known = drawn.known
    _require(not draw(case.task, opening, [], {}).text, "it has text before any action")


def _observed(case: Case, results: Sequence[StepResult]) -> list[ObservedStep]:
    """Return the steps of a trial as its actor has read them."""
    steps = []
    for action, result in zip(case.actions, results, strict=True):
        steps.append(ObservedStep(action=action, observation=result.observation))
    return steps


def _require_sentences(method: str, once: Any, again: Any) -> None:
    """Raise AssertionError unless a method has returned the same list of sentences twice."""
    _require(isinstance(once, list), f"{method} returns {once!r}, not a list")
    for sentence in once:
        _require(isinstance(sentence, str) and bool(sentence.strip()), f"{method} returns {sentence!r} as a sentence")
    _require(once == again, f"asked twice, {method} returns something else")


def _named(check: Callable[[Case], None]) -> Callable[[Case], None]:
    """Return the check with its name at the beginning of its failures."""

    @wraps(check)
    def named(case: Case) -> None:
        try:
            check(case)
        except (AssertionError, ConfigurationError, ValidationError) as error:
            raise AssertionError(f"{check.__name__}: {error}") from error

    return named


_ALL = (
    tasks_are_stable,
    models_are_shown_the_task,
    tools_have_schemas,
    text_forms_parse_back,
    same_actions_same_observations,
    replay_equals_live,
    invalid_actions_are_observations,
    limits_truncate,
    closing_twice_is_fine,
    ended_trials_go_on,
    final_answers_are_texts,
    facts_are_sentences,
    memory_maps_go_by_texts,
    event_loop_stays_free,
)

CHECKS: dict[str, Callable[[Case], None]] = {check.__name__: _named(check) for check in _ALL}
"""All checks by name."""


def _require(holds: bool, otherwise: str) -> None:
    if not holds:
        raise AssertionError(otherwise)


def _require_allowed(spec: ActionSpec, args: dict[str, Any]) -> None:
    try:
        spec.validate(args)
    except ValueError as error:
        raise AssertionError(f"{spec.name}, {error}. Pass actions=[...] with an allowed {spec.name}") from error


def _reads_as(environment: Environment, spec: ActionSpec, form: str, args: dict[str, Any]) -> None:
    # Arguments with a default need not be part of the text.
    written = {name: value for name, value in args.items() if "{" + name + "}" in form}
    text = fill(form, written)
    action = parsed(environment, text)
    _require(action["name"] == spec.name, f"{text!r} is parsed as {action['name']!r}, not as {spec.name!r}")
    # Read from text, a number is still a string; the schema makes it one.
    allowed = spec.validate(written)
    try:
        same = spec.validate(action["args"]) == allowed
    except ValueError:
        same = False
    _require(same, f"{text!r} is parsed as {action['args']}, not as {written}")
