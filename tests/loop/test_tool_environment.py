"""Tools as an environment: worlds, trials and their ends, and what is refused."""

import asyncio
import contextlib
import sqlite3
from typing import Annotated, Literal

import pytest
from langchain_core.messages import AIMessage
from langchain_core.tools import InjectedToolArg, StructuredTool
from langgraph.checkpoint.memory import InMemorySaver

from langgraph_reflexion import ConfigurationError, ToolEnvironment, resume_point
from langgraph_reflexion.actors import ACTORS
from langgraph_reflexion.envs.grammar import parse_action, read_call
from langgraph_reflexion.errors import EnvironmentFault
from langgraph_reflexion.testing import ScriptedChatModel, check_environment
from tests.support.toys import THREAD, compiled, play

ADD = {
    "type": "object",
    "properties": {
        "a": {"type": "integer", "description": "one"},
        "how": {"enum": ["twice", "once"], "description": "how often"},
        "more": {"$ref": "#/$defs/More"},
    },
    "required": ["a", "how"],
    "$defs": {"More": {"type": "object", "description": "options", "properties": {"by": {"type": "number"}}}},
}


def add(a, how, more=None):
    return str(a * (2 if how == "twice" else 1) + (more or {}).get("by", 0))


def add_tool():
    """A tool as MCP adapters make it: a dict schema, and content blocks with fresh ids."""

    async def call(**args):
        return [{"type": "text", "text": add(**args), "id": f"lc_{id(args)}"}], {"structured": True}

    form = "content_and_artifact"
    return StructuredTool(name="add-up", description="Add.", args_schema=ADD, coroutine=call, response_format=form)


def write(text: Annotated[str, "what to write"], state: Annotated[list, InjectedToolArg]) -> str:
    """Write a line."""
    state.append(text)
    return f"{len(state)} lines"


def fail(how: Literal["badly", "outside"]) -> str:
    """Fail."""
    raise {"badly": ZeroDivisionError("by 0"), "outside": EnvironmentFault("away", transient=False)}[how]


def notebook(**options):
    """A world that is a list of lines; solved when it holds a, b and c in this order."""
    made = []

    @contextlib.contextmanager
    def tools(task):
        made.append("open")
        lines = []
        yield [write], lines
        made.append("closed")

    def check(state):
        return state == ["a", "b", "c"], f"There are {len(state)} lines."

    return ToolEnvironment(tools, ["Write a, b and c."], check, **options), made


def one_trial(environment, replies, **options):
    return play(replies, environment, max_trials=1, **options)


def observations(final):
    return [step["observation"] for step in final["trajectory"]]


def calling(actor, name, text, **args):
    if actor == "react":
        return f"Action: {name}[{text}]"
    return AIMessage("", tool_calls=[{"name": name, "args": args, "id": "x", "type": "tool_call"}])


@pytest.fixture
def toolkit(tmp_path):
    from langchain_community.agent_toolkits import SQLDatabaseToolkit
    from langchain_community.utilities import SQLDatabase
    from sqlalchemy import create_engine

    path = tmp_path / "shop.db"
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.executescript("create table goods (name text, price int); insert into goods values ('pen', 3);")
        connection.commit()
    engine = create_engine(f"sqlite:///{path}")
    yield SQLDatabaseToolkit(db=SQLDatabase(engine), llm=ScriptedChatModel(replies=["unused"]))
    engine.dispose()


@pytest.mark.slow
@pytest.mark.parametrize("actor", ACTORS)
def test_the_sql_toolkit_is_an_environment(toolkit, actor):
    environment = ToolEnvironment(toolkit, ["What does a pen cost?"], lambda task, answer: "3" in answer)
    query = "select price\nfrom goods where name in ('pen', 'ink')"
    replies = [
        calling(actor, "sql_db_list_tables", ""),
        calling(actor, "sql_db_query", query, query=query),
        calling(actor, "sql_db_query", "select nothing", query="select nothing"),
        calling(actor, "finish", "3 crowns", answer="3 crowns"),
    ]
    final, model = one_trial(environment, replies, actor=actor)
    tables, price, error, end = observations(final)
    assert (tables, price, end) == ("goods", "[(3,)]", "The task is solved.")
    assert "syntax error" in error
    assert final["status"] == "solved"
    shown = model.prompts[0][0].text
    assert ("- sql_db_query[{query}]\n" in shown) == (actor == "react")


@pytest.mark.parametrize("actor", ACTORS)
def test_a_tool_with_a_json_schema_that_is_only_asynchronous(actor):
    environment = ToolEnvironment([add_tool()], ["Add."], lambda task, answer: answer == "7", replayable=True)
    replies = [
        calling(actor, "add-up", "3, twice", a=3, how="twice"),
        calling(actor, "add-up", '{"a": 3, "how": "once", "more": {"by": 4}}', a=3, how="once", more={"by": 4}),
        calling(actor, "add-up", "3, often", a=3, how="often"),
        calling(actor, "add-up", "3", a=3),
        calling(actor, "finish", "7", answer="7"),
    ]
    final, model = one_trial(environment, replies, actor=actor)
    six, seven, often, missing, _ = observations(final)
    assert (six, seven) == ("6", "7")
    assert often.startswith("Invalid action: add-up, how: must be twice or once, not 'often'")
    assert missing.startswith("Invalid action: add-up, how: is missing")
    assert final["status"] == "solved"
    explained = (
        "- add-up[{a}, {how}]\n  Add. {a}: one; {how}: how often (twice or once). "
        "Further arguments, if all are written as one JSON object: {more}: a JSON object with by."
    )
    assert (explained in model.prompts[0][0].text) == (actor == "react")


def test_an_exception_of_a_tool_is_an_observation_and_a_fault_is_a_fault():
    environment = ToolEnvironment([fail], ["Fail."], lambda task, answer: True)
    final, _ = one_trial(environment, ["Action: fail[badly]", "Action: fail[outside]"])
    assert observations(final) == ["Error: ZeroDivisionError('by 0')\n Please fix your mistakes."]
    assert (final["status"], final["fault"]) == ("fault", "away")


WRITTEN = ["1 lines", "2 lines", "3 lines", "The task is solved. There are 3 lines."]


def test_each_trial_has_fresh_tools_which_are_closed_after_it():
    environment, made = notebook()
    replies = ["finish[]", "finish[done]", "write[a]", "write[b]", "write[c]", "finish[.]"]
    final, _ = play([f"Action: {each}" for each in replies], environment, max_trials=2, strategy="retry")
    assert [trial["verdict"] for trial in final["trials"]] == [False, True]
    assert observations(final) == WRITTEN
    assert made == ["open", "closed"] * 3  # the first time for the schemas


def test_an_asynchronous_context_manager_is_left_by_the_task_that_entered_it():
    tasks = []

    @contextlib.asynccontextmanager
    async def session(task):
        tasks.append(asyncio.current_task())
        yield [add_tool()]
        tasks.append(asyncio.current_task())

    environment = ToolEnvironment(session, ["Add."], lambda task, answer: answer == "6")
    final, _ = one_trial(environment, ["Action: add-up[3, twice]", "Action: finish[6]"])
    assert final["status"] == "solved"
    assert len(tasks) == 4
    assert tasks[::2] == tasks[1::2]


def test_tools_may_differ_by_task():
    tools = {"fail": fail, "add": add_tool()}
    tasks = [{"instruction": "Begin.", "id": each} for each in tools]
    environment = ToolEnvironment(lambda task: [tools[task["id"]]], tasks, lambda task, answer: answer == "4")
    replies = ["Action: add-up[2, twice]", "Action: fail[badly]", "Action: finish[4]"]
    final, model = play(replies, environment, environment.tasks()[1], max_trials=1)
    assert "- add-up[{a}, {how}]" in model.prompts[0][0].text
    added, refused, _ = observations(final)
    assert (added, final["status"]) == ("4", "solved")
    assert refused.startswith("Invalid action: there is no action 'fail[badly]'. Allowed actions: add-up[{a}, {how}]")


KINDS = {
    "replay": {"replayable": True},
    "snapshot": {"snapshot": lambda state: list(state), "restore": lambda state, saved: state.extend(saved)},
    "neither": {},
}


@pytest.mark.parametrize("kind", KINDS)
def test_a_trial_is_resumed_after_its_process_ended(kind):
    saver = InMemorySaver()

    def reply(messages):
        return f"Action: {['write[a]', 'write[b]', 'write[c]', 'finish[.]'][len(messages) // 2 - 1]}"

    def graph():
        environment, made = notebook(**KINDS[kind])
        return *compiled(reply, environment, saver, max_trials=1), made

    first, before, _ = graph()
    for given in ({"task": notebook()[0].tasks()[0]}, None):
        first.invoke(given, THREAD, interrupt_after=["observe"])
    again, after, made = graph()
    final = again.invoke(None, THREAD)
    assert final["status"] == "solved"
    assert observations(final) == WRITTEN
    assert made == ["open", "closed"]
    (record,) = final["trials"]
    assert record["actions"] == 4
    lost = kind == "neither"
    assert [("starts over" in note) for note in record["notes"]] == [True] * lost
    shown = [len(prompt) // 2 for prompt in before.prompts + after.prompts]
    assert shown == ([1, 2, 3, 1, 2, 3, 4] if lost else [1, 2, 3, 4])


def test_a_stopped_trial_whose_world_was_lost_is_a_fault_and_then_begins_anew():
    saver, written = InMemorySaver(), iter("abc" * 2)

    def graph():
        replies, stops = lambda _: f"Action: write[{next(written)}]", lambda steps: "long" if len(steps) > 2 else None
        return compiled(replies, notebook()[0], saver, max_trials=1, heuristic=stops)[0]

    graph().invoke({"task": notebook()[0].tasks()[0]}, THREAD, interrupt_before=["evaluate"])
    again = graph()
    lost = again.invoke(None, THREAD)
    assert (lost["status"], "starts over" in lost["fault"]) == ("fault", True)
    again.update_state(THREAD, *resume_point(lost))
    final = again.invoke(None, THREAD)
    assert final["status"] == "solved"
    assert observations(final)[:3] == WRITTEN[:3]


@pytest.mark.slow
def test_conformance():
    environment, _ = notebook(replayable=True)
    check_environment(environment, actions=["write[a]", 'write[{"text": "b, [c]"}]', "write[d\ne]"])
    check_environment(ToolEnvironment([add_tool(), fail], ["Add."], lambda task, answer: True))
    check_environment(notebook(**KINDS["snapshot"])[0])


@pytest.mark.parametrize("text", ["a", "a\nb[0", '{"text": "x"}', " a ", "[", ""], ids=str)
def test_a_call_as_text_is_read_as_the_same_call(text):
    environment, _ = notebook()
    action = read_call(environment, "write", {"text": text})
    assert parse_action(environment, action["text"])["args"] == {"text": text}


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"tasks": []}, "tasks is empty"),
        ({"tasks": [{"instruction": "x", "answer": 3}]}, "answer: put"),
        ({"check": lambda task, outcome, reward: True}, "outcome, reward"),
        ({"check": lambda: True}, r"check needs .*function of \(task, answer\)"),
        ({"check": lambda answer, key: True}, "check needs .*key"),
        ({"snapshot": lambda: 1}, "go together"),
        ({"tools": [fail, fail]}, "two tools"),
        *(({"tools": wrong}, "give a list of LangChain tools") for wrong in (None, 3, "look", [None], [lambda x: x])),
    ],
)
def test_wrong_arguments(options, why):
    with pytest.raises(ConfigurationError, match=why):
        ToolEnvironment(**{"tools": [fail], "tasks": ["x"], "check": lambda task, answer: True, **options}).actions()
