import asyncio
import json
import threading
import time
from enum import Enum
from typing import Annotated, Literal

import pytest
from pydantic import BaseModel, Field

from langgraph_reflexion import create_reflexion
from langgraph_reflexion.envs import load_environment
from langgraph_reflexion.envs.base import Action, Episode, MemoryMap, StepResult, Task, action
from langgraph_reflexion.envs.pool import EpisodePool
from langgraph_reflexion.errors import ConfigurationError, EnvironmentFault, EnvironmentUnavailable
from langgraph_reflexion.testing import ScriptedChatModel, ScriptExhausted
from langgraph_reflexion.testing.conformance import CHECKS, Case, check_environment
from tests.toys import Counter, CounterEpisode, Notebook, SlowCounter, add

MOVES = ["add 2", "go up", "go down", "read[]", "plus 5"]


def counter() -> Case:
    return Case.of(Counter(), task=Counter().tasks("hard")[0], actions=MOVES, limit=20)


@pytest.mark.parametrize("check", CHECKS.values(), ids=CHECKS)
@pytest.mark.parametrize(
    "case",
    [
        counter,
        lambda: Case.of(SlowCounter(), actions=["add 2", "go down"], limit=20),
        lambda: Case.of(Notebook(), actions=["write one", "write two, three", "show"]),
    ],
    ids=["replayed", "slow", "snapshots"],
)
def test_toy_environments_conform(check, case):
    check(case())


def test_check_environment_runs_them_all_and_fills_in_actions():
    check_environment(Notebook())


async def test_the_checks_run_where_a_loop_already_runs():
    check_environment(Notebook())


class Shared(Counter):
    """Its episodes are not independent."""

    def start(self, task):
        if not self.started:
            return super().start(task)
        return self.started[0]


class Forgetful(Notebook):
    def restore(self, task, snapshot):
        return self.start(task)


class Blocking(SlowCounter):
    blocking = False


class Endless(Counter):
    def __init__(self):
        super().__init__(limit=10**6)


class TwoAlike(Counter):
    def tasks(self, split=None, limit=None):
        return [*super().tasks(split, limit), *super().tasks(split, limit)]


class Counting(Counter):
    """Its map goes by how often it was asked for."""

    drawn = 0

    def memory_map(self, task, opening, steps, known):
        self.drawn += 1
        return MemoryMap((f"Drawn {self.drawn} times.",) if steps else ())


class Presuming(Counter):
    def memory_map(self, task, opening, steps, known):
        return MemoryMap(("There is a counter.",))


@pytest.mark.parametrize(
    ("broken", "actions", "by"),
    [
        (Shared, ["go up", "go up"], "same_actions_same_observations"),
        (Shared, ["add 1", "go down"], "replay_equals_live"),
        (Forgetful, ["write one", "write two"], "snapshots_restore"),
        (Forgetful, ["write one", "write two"], "replay_equals_live"),
        (Blocking, ["go up"], "event_loop_stays_free"),
        (Endless, ["read[]"], "limits_truncate"),
        (TwoAlike, ["go up"], "tasks_are_stable"),
        (Counting, ["go up"], "memory_maps_go_by_texts"),
        (Presuming, ["go up"], "memory_maps_go_by_texts"),
    ],
)
def test_the_checks_find_what_is_wrong(broken, actions, by):
    case = Case.of(broken(), actions=actions, limit=20)
    with pytest.raises(AssertionError):
        CHECKS[by](case)


def test_actions_come_from_methods():
    specs = CounterEpisode.actions()
    assert list(specs) == ["add", "turn", "read", "break"]
    assert specs["read"].forms == ("read[]",)
    assert specs["read"].description == "Read the counter."
    assert specs["break"].method == "fail"
    assert specs["add"].render({"amount": 2}) == "add 2"


class Tool(Enum):
    AXE = "axe"
    SAW = "saw"


class WorkshopEpisode(Episode):
    """Actions with all kinds of arguments."""

    observation = "A workshop."

    @action("take {tool}")
    def take(self, tool: Tool) -> str:
        """Take a tool"""
        return "Taken."

    @action("cut {tool} {length} {times}")
    def cut(
        self,
        tool: Tool,
        length: Annotated[int, "in metres", Field(ge=1, le=9)],
        times: Annotated[int, Field(ge=1)] = 1,
    ) -> str:
        """Cut a plank with it."""
        return "Cut."

    @action("paint {length}")
    def paint(self, length: Annotated[int, "in coats"], colour: Literal["red"] = "red") -> str:
        """Paint the plank."""
        return "Painted."

    @action("note\n{text}")
    def note(self, text: str) -> str:
        """Write a note."""
        return "Written."


class Workshop(Counter):
    episode = WorkshopEpisode

    def start(self, task):
        return WorkshopEpisode()


def test_actions_are_shown_with_what_docstrings_and_signatures_say():
    assert [tuple(each) for each in Workshop().shown_actions(Workshop().tasks()[0])] == [
        ("take {tool}", "Take a tool. {tool}: axe or saw."),
        ("cut {tool} {length} {times}", "Cut a plank with it. {length}: in metres (1 to 9); {times}: at least 1."),
        ("paint {length}", "Paint the plank. {length}: in coats."),
        ("note\n{text}", "Write a note."),
    ]
    check_environment(Workshop())


class Pace(Enum):
    SLOW = 1
    FAST = 2


class Point(BaseModel):
    """A place on the floor."""

    x: Annotated[int, Field(ge=0, le=3)]
    y: int = 0


class Node(BaseModel):
    """A place with more of them below it."""

    below: list["Node"]
    beside: "Node | None"


class Typed:
    """Actions with one argument each, by the type that it has."""

    numbered = Literal[1, 2, 3]
    paced = Pace
    perhaps = Annotated[Literal["a", "b"] | None, "which"]
    painted = Tool | None
    united = int | Literal["all"]
    listed = list[Literal["a b", "c"]]
    counted = list[int]
    open_ended = Annotated[int, Field(gt=6)]
    between = Annotated[int, "how many", Field(gt=6, lt=9)]
    half_open = Annotated[float, Field(ge=0, lt=1.5)]
    bounded_or_not = Annotated[int, Field(ge=5, le=9)] | None
    spaced = Literal["a b", "c", ""]
    point = Point
    table = dict[str, int]
    tree = Node
    long = Annotated[str, Field(min_length=10)]
    short = Annotated[str, Field(min_length=2, max_length=4)]
    fraction = Annotated[float, Field(le=1.5)]
    pair = tuple[int, str]


def with_action(act):
    """An environment with this one action."""

    class OneEpisode(Episode):
        observation = "A room."
        act_ = act

    class One(Counter):
        name = "one"
        episode = OneEpisode

        def start(self, task):
            return OneEpisode()

    return One()


def typed(kind):
    """An environment whose one action has one argument of this type."""

    def act(self, it) -> str:
        """Do it."""
        return repr(it)

    act.__annotations__["it"] = getattr(Typed, kind)
    return with_action(action("do {it}")(act))


TYPES = [name for name in vars(Typed) if not name.startswith("_")]


@pytest.mark.parametrize("kind", TYPES)
def test_values_are_made_up_that_the_schema_allows(kind):
    environment = typed(kind)
    case = Case.of(environment)
    assert "Invalid" not in environment.start(case.task).step(case.actions[0]).observation
    check_environment(environment)


@pytest.mark.parametrize(
    ("kind", "written", "read"),
    [
        ("numbered", "2", "2"),
        ("paced", "2", "<Pace.FAST: 2>"),
        ("perhaps", "b", "'b'"),
        ("united", "all", "'all'"),
        ("united", "7", "7"),
        ("spaced", "a b", "'a b'"),
        ("spaced", '"a b"', "'a b'"),
        ("spaced", '""', "''"),
        ("listed", '["c", "a b"]', "['c', 'a b']"),
        ("counted", "[1, 2]", "[1, 2]"),
        ("point", '{"x": 1}', "Point(x=1, y=0)"),
        ("table", '{"a": 1}', "{'a': 1}"),
    ],
)
def test_an_argument_written_as_text_is_read_as_its_type(kind, written, read):
    environment = typed(kind)
    parsed = environment.parse(f"do {written}")
    assert environment.start(TASK).step(parsed).observation == read


@pytest.mark.parametrize(
    ("kind", "written", "says"),
    [
        ("numbered", "4", "it: Input should be 1, 2 or 3"),
        ("counted", "[1, 2", "it: Input should be a valid list"),
        ("counted", "[" * 100_000, "it: Input should be a valid list"),
        ("point", '{"x": 9}', "it: Input should be a valid dictionary"),
    ],
)
def test_an_argument_that_is_not_allowed_is_an_observation(kind, written, says):
    environment = typed(kind)
    assert says in environment.start(TASK).step(environment.parse(f"do {written}")).observation


@pytest.mark.parametrize(
    ("kind", "explanation"),
    [
        ("numbered", "1, 2 or 3"),
        ("perhaps", "which (a or b)"),
        ("painted", "axe or saw"),
        ("united", "a whole number or all"),
        ("listed", 'a JSON list of "a b" or "c"'),
        ("counted", "a JSON list"),
        ("open_ended", "more than 6"),
        ("between", "how many (more than 6 and less than 9)"),
        ("half_open", "at least 0 and less than 1.5"),
        ("bounded_or_not", "5 to 9"),
        ("spaced", '"a b", c or ""'),
        ("point", 'a JSON object with "x" and "y"'),
    ],
)
def test_allowed_values_are_shown(kind, explanation):
    environment = typed(kind)
    assert environment.shown_actions(TASK)[0].explanation == f"Do it. {{it}}: {explanation}."


def test_tools_write_lists_so_that_they_read_back():
    environment = typed("listed")
    spec = environment.episode.actions()["act"]
    assert spec.render({"it": ["a b"]}) == 'do ["a b"]'
    assert environment.tools[0]["function"]["parameters"]["properties"]["it"]["items"]["enum"] == ["a b", "c"]


def patterned(environment_actions=None):
    def act(self, it: Annotated[str, Field(pattern="^[xyz]{2}$")]) -> str:
        """Do it."""
        return it

    check_environment(with_action(action("do {it}", "please do {it}")(act)), actions=environment_actions)


def test_where_values_cannot_be_made_up_actions_are_asked_for_and_used():
    with pytest.raises(AssertionError, match=r"text_forms_parse_back: act .* it: .* give actions=\[...\] with"):
        patterned()
    patterned(["do xy"])


def test_forms_that_read_free_text_in_two_places_are_tried_with_the_given_actions():
    def act(self, one: str, other: str) -> str:
        """Do both."""
        return one + other

    check_environment(with_action(action("do {one} {other}")(act)), actions=["do this that"])


def no_hint(self, it) -> str:
    return ""


def starred(self, *them: str) -> str:
    return ""


def hinted(self, it: str) -> str:
    return ""


@pytest.mark.parametrize(
    ("method", "form", "says"),
    [
        (no_hint, "do {it}", r"the action 'no_hint' \(no_hint\): 'it' has no type hint: give one, such as `it: str`"),
        (starred, "do", r"takes \*them: str: give each argument a name"),
        (hinted, "do {it} {it}", r"the action 'hinted' .* the form 'do \{it\} \{it\}' names \{it\} twice"),
        (hinted, "do {1} {it}", r"names \{1\}, which is not an argument: it has it"),
        (hinted, "do", r"the form 'do' lacks \{it\}"),
    ],
)
def test_actions_that_are_ill_defined_are_refused_by_name(method, form, says):
    with pytest.raises(ConfigurationError, match=says):
        check_environment(with_action(action(form)(method)))


def test_a_form_too_few_is_refused():
    class Brief(Counter):
        def forms(self, task):
            return super().forms(task)[:-1]

    with pytest.raises(ConfigurationError, match=r"counter\.forms\(\) gives 3 forms for 4 actions"):
        Brief().shown_actions(Brief().tasks()[0])


@pytest.mark.parametrize("template", ["task", "task_attempt_first", "failed_trial", "trial"])
def test_prompts_that_keep_the_task_from_a_model_are_found(template, tmp_path):
    class Secretive(Notebook):
        prompts = tmp_path

    (tmp_path / f"{template}.md").write_text("You know what to do.", encoding="utf-8")
    with pytest.raises(AssertionError, match=rf"models_are_shown_the_task: {template}\.md in .* lacks"):
        check_environment(Secretive())


@pytest.mark.parametrize(
    ("template", "text", "says"),
    [
        (
            "act",
            "{% for form in forms %}{{ form }}{% endfor %}",
            r"act\.md fails: 'forms' is undefined",
        ),
        ("actions", "\n{{ forms }}", r"act\.md fails: 'forms' is undefined \(.*actions\.md, line 2\)"),
        ("act_in_two", "{{ forms }}", r"act_in_two\.md fails"),
        ("reflect", "{{ steps }}", r"reflect\.md fails: 'steps' is undefined"),
        ("judge", "{% if %}", r"judge\.md fails: Expected an expression"),
        ("task", "{{ instruction }}", r"task\.md fails: 'instruction' is undefined .* it is given observation,"),
        ("opening", "{{ observation }}", r"opening\.md in .* lacks \{\{ instruction \}\}"),
        (
            "trial",
            "{% for step in steps %}{{ step.text }}{% endfor %}",
            r"trial\.md fails: .*'text'",
        ),
    ],
)
def test_templates_that_cannot_be_rendered_are_found(template, text, says, tmp_path):
    class Broken(Notebook):
        prompts = tmp_path

    (tmp_path / f"{template}.md").write_text(text, encoding="utf-8")
    with pytest.raises(AssertionError, match=f"models_are_shown_the_task: {says}"):
        check_environment(Broken())


def test_a_folder_of_prompts_may_be_a_plain_string(tmp_path, monkeypatch):
    class Own(Notebook):
        prompts = "prompts"

    (tmp_path / "prompts").mkdir()
    (tmp_path / "prompts" / "setting.md").write_text("You write notes.", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    model = ScriptedChatModel(replies=["Action: show"])
    environment = Own()
    with pytest.raises(ScriptExhausted):
        create_reflexion(model, environment, actor="react").compile().invoke({"task": environment.tasks()[0]})
    assert model.prompts[0][0].text.startswith("You write notes.")


def test_prompts_that_cannot_be_read_fail_a_check_by_name(tmp_path):
    class Lost(Notebook):
        prompts = tmp_path / "gone"

    with pytest.raises(AssertionError, match=r"models_are_shown_the_task: .*gone is not a folder"):
        check_environment(Lost())


def test_a_task_without_words_is_found():
    class Wordless(Counter):
        def tasks(self, split=None, limit=None):
            return [Task(**{**task, "instruction": " "}) for task in super().tasks(split, limit)]

    with pytest.raises(AssertionError, match="no instruction"):
        CHECKS["models_are_shown_the_task"](Case.of(Wordless()))


def test_the_tool_schema_is_what_a_model_gets():
    assert Counter().tools[0] == {
        "type": "function",
        "function": {
            "name": "add",
            "description": "Add to the counter.",
            "parameters": {
                "type": "object",
                "properties": {
                    "amount": {"type": "integer", "description": "how much to add"},
                    "times": {"type": "integer", "description": "how often", "default": 1},
                },
                "required": ["amount"],
            },
        },
    }


def test_tools_act_on_the_episode():
    episode = CounterEpisode(3, 20)
    tools = {tool.name: tool for tool in episode.tools}
    assert tools["add"].invoke({"amount": 2}) == "The counter stands at 2."
    assert tools["read"].invoke({}) == "2"


@pytest.mark.parametrize(
    ("text", "args"),
    [("add 2", {"amount": "2"}), ("  Add   2 ", {"amount": "2"}), ("plus 2", {"amount": "2"}), ("add", None)],
)
def test_text_is_read_as_an_action(text, args):
    parsed = Counter().parse(text)
    assert (parsed and parsed["args"]) == args


def test_arguments_are_converted_and_checked():
    episode = CounterEpisode(3, 20)
    assert episode.step(add("2")).observation == "The counter stands at 2."
    assert episode.step(add("two")).observation.startswith("Invalid action: add, amount: ")
    answer = episode.step(Action(name="", args={}, text="count to 3")).observation
    assert answer == (
        "Invalid action: there is no action 'count to 3'. "
        "Allowed actions: add {amount}; go {direction}; read[]; fail."
    )
    assert episode.count == 2


def test_load_environment_by_path_and_its_errors():
    assert isinstance(load_environment("tests.toys:Counter", limit=3), Counter)
    for name, options, says in [
        ("counter", {}, "package.module:Class"),
        ("tests.toys:Missing", {}, "cannot load"),
        ("tests.toys:Counter", {"speed": 3}, "does not take"),
        ("builtins:dict", {}, "no Environment"),
    ]:
        with pytest.raises(ConfigurationError, match=says):
            load_environment(name, **options)


TASK = Counter().tasks("hard")[0]


async def test_tasks_of_one_id_and_one_history_keep_their_episodes_apart():
    pool = EpisodePool(Counter())
    one, other = TASK | {"data": {"goal": 5}}, TASK | {"data": {"goal": 6}}
    for task in (one, other):
        await pool.start(task)
    assert [(await pool.step(task, [], add(6))).result.reward for task in (other, one)] == [1.0, 0.0]


async def test_the_pool_hands_back_the_live_episode():
    environment = Counter()
    pool = EpisodePool(environment)
    assert await pool.start(TASK) == (environment.started[0].observation, None)
    await pool.step(TASK, [], add(2))
    stepped = await pool.step(TASK, [add(2)], add(3))
    assert stepped.result == StepResult("The counter stands at 5.", reward=0.0)
    assert len(environment.started) == 1


async def test_another_history_is_rebuilt_and_the_live_episode_left_alone():
    environment = Counter()
    pool = EpisodePool(environment)
    await pool.start(TASK)
    await pool.step(TASK, [], add(2))
    forked = await pool.step(TASK, [add(7)], add(1))
    assert forked.result.observation == "The counter stands at 8."
    resumed = await pool.step(TASK, [add(2)], add(1))
    assert resumed.result.observation == "The counter stands at 3."
    assert len(environment.started) == 2


async def test_two_runs_of_one_task_do_not_share_an_episode():
    pool = EpisodePool(SlowCounter())
    answers = await asyncio.gather(*(pool.step(TASK, [add(1)], add(n)) for n in (1, 1, 2)))
    assert [a.result.observation[-2] for a in answers] == ["2", "2", "3"]


async def test_snapshots_are_used_instead_of_replay():
    environment = Notebook()
    task = environment.tasks()[0]
    write = [Action(name="write", args={"line": line}, text=f"write {line}") for line in "abc"]
    pool = EpisodePool(environment)
    _, snapshot = await pool.start(task)
    for index in range(2):
        result, snapshot = await pool.step(task, write[:index], write[index], snapshot)
    again = await EpisodePool(environment).step(task, write[:2], write[2], json.loads(json.dumps(snapshot)))
    assert again.result.observation == result.observation.replace("2 lines", "3 lines")
    assert again.snapshot["lines"] == ["a", "b", "c"]


async def test_the_oldest_is_closed_when_there_are_too_many_and_release_and_close_close():
    environment = Counter()
    pool = EpisodePool(environment, size=2)
    for task in environment.tasks()[:3]:
        await pool.start(task)
    assert [episode.closed for episode in environment.started] == [1, 0, 0]
    await pool.release(environment.tasks()[1], [])
    await pool.release(environment.tasks()[1], [])
    pool.close()
    assert [episode.closed for episode in environment.started] == [1, 1, 1]


class Sticky(Episode):
    observation = "It does not close."

    def close(self):
        raise OSError("stuck")


async def test_an_episode_that_cannot_be_closed_costs_no_trial_anything(caplog):
    class Stuck(Counter):
        def start(self, task):
            return Sticky()

    pool = EpisodePool(environment := Stuck(), size=1)
    first, second = environment.tasks()[:2]
    for task in (first, second):
        await pool.start(task)
    await pool.release(second, [])
    await pool.start(first)
    pool.close()
    assert caplog.text.count("could not be closed") == 3


async def test_a_task_that_is_gone_costs_the_next_one_nothing():
    class Gone(Counter):
        gone = ""

        def blocks(self, task):
            if task["id"] == self.gone:
                raise EnvironmentUnavailable("its file is gone")
            return False

    pool = EpisodePool(environment := Gone(), size=1)
    first, second = environment.tasks()[:2]
    await pool.start(first)
    environment.gone = first["id"]
    await pool.start(second)
    assert [episode.closed for episode in environment.started] == [1, 0]


BREAK = Action(name="break", args={}, text="fail")


@pytest.mark.parametrize("kind", [Counter, SlowCounter])
async def test_an_environment_that_fails_is_a_fault_and_its_episode_is_closed(kind):
    environment = kind()
    pool = EpisodePool(environment)
    await pool.start(TASK)
    with pytest.raises(EnvironmentFault, match=r"counter failed: OSError: .* fell off"):
        await pool.step(TASK, [], BREAK)
    with pytest.raises(EnvironmentFault):
        await pool.step(TASK, [BREAK], add(1))
    assert [episode.closed for episode in environment.started] == [1, 1]
    assert (await pool.step(TASK, [], add(1))).result.observation == "The counter stands at 1."


async def test_an_episode_that_nobody_waits_for_any_more_is_closed():
    environment = SlowCounter()
    pool = EpisodePool(environment)
    starting = asyncio.create_task(pool.start(TASK))
    await asyncio.sleep(0.05)
    starting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await starting
    await asyncio.sleep(2 * SlowCounter.seconds)
    assert [episode.closed for episode in environment.started] == [1]


async def test_blocking_environments_run_in_a_thread_and_others_do_not():
    threads = []

    class Watched(Counter):
        def start(self, task):
            threads.append(threading.current_thread())
            return super().start(task)

        def blocks(self, task):
            return task["id"] == TASK["id"]

    pool = EpisodePool(Watched())
    await pool.start(TASK)
    await pool.start(Counter().tasks()[0])
    assert [thread is threading.main_thread() for thread in threads] == [False, True]


def test_an_episode_needs_no_environment():
    class Door(Episode):
        observation = "A door."

    assert Door().snapshot() is None
    assert Door.actions() == {}


@pytest.mark.parametrize(
    ("given", "bug", "problem"),
    [
        (None, TypeError, "a step gives a StepResult"),
        (StepResult("?", reward=float("nan")), ValueError, "finite number"),
        (StepResult("?", reward=float("inf")), ValueError, "finite number"),
    ],
    ids=["none", "nan", "inf"],
)
async def test_what_is_no_result_is_a_bug(given, bug, problem):
    class Odd(Counter):
        def start(self, task):
            episode = super().start(task)
            episode.step = lambda action: given
            return episode

    pool = EpisodePool(environment := Odd())
    await pool.start(environment.tasks()[0])
    with pytest.raises(bug, match=problem):
        await pool.step(environment.tasks()[0], [], BREAK)


def test_a_form_with_two_arguments_is_read_in_linear_time():
    class Mover(Episode):
        observation = ""

        @action("move {thing} to {place}")
        def move(self, thing: str, place: str) -> str:
            """Move."""
            return ""

    class Movers(Counter):
        episode = Mover

    began = time.monotonic()
    assert Movers().parse("move" + " " * 20_000 + "x") is None
    assert time.monotonic() - began < 2
    assert Movers().parse("move  a b  to  c ")["args"] == {"thing": "a b", "place": "c"}
