"""The conformance checks: on the built-in environments, and on broken ones."""

import json
from typing import Annotated

import pytest
from pydantic import Field

from langgraph_reflexion.envs import ENVIRONMENTS, load_environment
from langgraph_reflexion.envs.base import MemoryMap, action
from langgraph_reflexion.envs.hotpotqa.environment import HotPotQA
from langgraph_reflexion.envs.workspace.environment import Workspace
from langgraph_reflexion.errors import ConfigurationError
from langgraph_reflexion.testing import CHECKS, Case, check_environment
from tests.support.hotpotqa import OFFICIAL, PAGES, as_on_the_hub
from tests.support.mediawiki import MediaWikiServer
from tests.support.tools import need, need_extra
from tests.support.toys import Counter, Notebook, SlowCounter, with_action
from tests.support.workspace import FAILING, write_folder


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted({*ENVIRONMENTS} - {"workspace"}))
def test_built_in_environments(name):
    if name == "programming":
        need("sandbox")
    if name == "webshop":
        need_extra("webshop")
    check_environment(load_environment(name))


@pytest.mark.parametrize("convert", [dict, as_on_the_hub], ids=["official", "hub"])
def test_hotpotqa_with_questions_from_a_file(tmp_path, convert):
    path = tmp_path / "questions.json"
    path.write_text(json.dumps([convert(entry) for entry in OFFICIAL]), encoding="utf-8")
    actions = ["search[birch]", "lookup[felled]", "search[Willow]", "search[oak]"]
    check_environment(HotPotQA(path=path), actions=actions)


@pytest.mark.parametrize("actor", HotPotQA.actors)
def test_hotpotqa_without_tools(actor):
    case = Case.of(HotPotQA().for_actor(actor), actions=["finish[nobody]"])
    for name in {*CHECKS} - {"invalid_actions_are_observations"}:  # there is one turn, and anything ends it
        CHECKS[name](case)


@pytest.mark.parametrize("pages", ["wikipedia", "langchain"])
def test_hotpotqa_with_live_pages(pages):
    actions = ["search[Elm]", "lookup[elm]", "search[Nothing]", "lookup[elm]", "search[Ålmö]"]
    with MediaWikiServer(PAGES) as server:
        check_environment(HotPotQA(pages=pages, api=server.api), actions=actions)


@pytest.mark.slow
def test_workspace(tmp_path):
    need("bubblewrap")
    actions = [
        "list_files[.]",
        "read_file[code_.py]",
        "search_files[double]",
        "write_file[new.txt]\n```\nx\n```",
        "edit_file[code_.py]\n<<<<<<< SEARCH\nn + 2\n=======\nn * 3\n>>>>>>> REPLACE",
        "run_command[echo hello >> new.txt; cat new.txt]",
        "verify[]",
        "read_file[new.txt]",
    ]
    check_environment(
        Workspace({**FAILING, "path": write_folder(tmp_path / "original")}, store=tmp_path / "store"), actions=actions
    )


class Shared(Counter):
    def start(self, task):
        return self.started[0] if self.started else super().start(task)


class Blocking(SlowCounter):
    blocking = False


class BlockingInCoroutine(SlowCounter):
    """It is asynchronous, and blocks the event loop instead of awaiting."""

    async def restore(self, task, snapshot):
        raise NotImplementedError


class Counting(Counter):
    """Its map depends on how often it is requested."""

    drawn = 0

    def memory_map(self, task, opening, steps, known):
        self.drawn += 1
        return MemoryMap((f"Drawn {self.drawn} times.",) if steps else ())


class Presuming(Counter):
    def memory_map(self, task, opening, steps, known):
        return MemoryMap(("There is a counter.",))


class Forgetful(Counter):
    """Its trials go on, but its episodes have no snapshot."""

    def go_on(self, task, snapshot):
        return self.start(task)


class Eager(Counter):
    """Whatever is said hands in an answer."""

    def final_answer(self, task, action):
        return action["text"]


class Wordy(Counter):
    """Its facts are one text."""

    def trial_facts(self, task, opening, steps):
        return "It has not counted far enough."


class Meddling(Counter):
    """Its facts change the trial."""

    def facts(self, task, steps):
        steps.clear()
        return []


@pytest.mark.slow
@pytest.mark.parametrize(
    ("broken", "actions", "by"),
    [
        (Forgetful, ["go up"], "ended_trials_go_on"),
        (Eager, ["go up"], "final_answers_are_texts"),
        (Wordy, ["go up"], "facts_are_sentences"),
        (Meddling, ["go up"], "facts_are_sentences"),
        (Shared, ["go up", "go up"], "same_actions_same_observations"),
        (Shared, ["add 1", "go down"], "replay_equals_live"),
        (Blocking, ["go up"], "event_loop_stays_free"),
        (BlockingInCoroutine, ["go up"], "event_loop_stays_free"),
        (lambda: Counter(limit=10**6), ["read[]"], "limits_truncate"),
        (Counting, ["go up"], "memory_maps_go_by_texts"),
        (Presuming, ["go up"], "memory_maps_go_by_texts"),
    ],
)
def test_checks_detect_broken_environments(broken, actions, by):
    case = Case.of(broken(), actions=actions, limit=20)
    with pytest.raises(AssertionError):
        CHECKS[by](case)


def test_an_environment_without_faults_passes():
    check_environment(Counter(), actions=["add 2", "go up", "go down", "read[]", "plus 5"], limit=20)


def test_actions_are_requested_if_values_cannot_be_generated():
    def act(self, it: Annotated[str, Field(pattern="^[xyz]{2}$")]) -> str:
        """Do it."""
        return it

    environment = with_action(action("do {it}", "please do {it}")(act))
    with pytest.raises(AssertionError, match=r"text_forms_parse_back: act, it: .* actions=\[...\] with"):
        check_environment(environment)
    check_environment(environment, actions=["do xy"])


@pytest.mark.parametrize(
    ("template", "text", "says"),
    [
        ("task", "You know what to do.", r"task\.md in .* lacks"),
        ("failed_trial", "You know what to do.", r"failed_trial\.md in .* lacks"),
        ("actions", "\n{{ forms }}", r"act\.md fails: the template .*actions\.md, line 2: .*'forms' is undefined"),
        ("judge", "{% if %}", r"the template .*judge\.md, line 1: TemplateSyntaxError: Expected"),
        ("task", "{{ goal }}", r"task\.md fails: .*'goal' is undefined: its values are observation,"),
        ("opening", "{{ observation }}", r"opening\.md in .* lacks \{\{ instruction \}\}"),
    ],
)
def test_templates_that_fail_or_omit_the_task_are_detected(template, text, says, tmp_path):
    class Broken(Notebook):
        prompts = tmp_path

    (tmp_path / f"{template}.md").write_text(text, encoding="utf-8")
    with pytest.raises(AssertionError, match=f"models_are_shown_the_task: {says}"):
        check_environment(Broken())


@pytest.mark.parametrize(
    ("tasks", "says"),
    [
        ([{"id": "x"}], "task 1 of 'counter' has no 'instruction'"),
        ([{"id": "x", "instruction": "Count."}, {"id": 2}], "task 2 of 'counter' has no 'id'"),
        (["Count."], "task 1 of 'counter' has no 'id'"),
        ([{"id": "x", "instruction": " ", "data": {"goal": 3}}], "no instruction"),
        ([{"id": "x", "instruction": "Count."}] * 2, "two tasks of 'counter' have the id 'x'"),
        (None, "tasks.. of 'counter' returned a NoneType instead of a list"),
    ],
)
def test_a_task_without_its_fields_is_a_clear_error(tasks, says):
    class Unfinished(Counter):
        def tasks(self, split=None, limit=None):
            self.choose_split(split)
            return tasks and tasks[:limit]

    with pytest.raises((ConfigurationError, AssertionError), match=says):
        check_environment(Unfinished())


def test_environment_is_closed_after_a_failed_check():
    class Careless(Counter):
        closed = False

        def tasks(self, split=None, limit=None):
            return super().tasks(None, limit)

        def close(self):
            self.closed = True

    with pytest.raises(AssertionError, match=r"tasks_are_stable: an unknown split"):
        check_environment(environment := Careless())
    assert environment.closed
