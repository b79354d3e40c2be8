import asyncio
import contextlib
import sqlite3
from typing import Annotated, Literal

import pytest
from langchain_core.messages import AIMessage
from langchain_core.tools import InjectedToolArg, StructuredTool, ToolException, tool
from langgraph.checkpoint.memory import InMemorySaver

from langgraph_reflexion import ConfigurationError, EnvironmentFault, ToolEnvironment, create_reflexion, resume_point
from langgraph_reflexion.actors import ACTORS
from langgraph_reflexion.actors.reply import read_reply
from langgraph_reflexion.testing import ScriptedChatModel, check_environment

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


FAILURES = {
    "softly": ToolException("no"),
    "badly": ZeroDivisionError("by 0"),
    "outside": EnvironmentFault("away", transient=False),
}


def fail(how: Literal["softly", "badly", "outside"]) -> str:
    """Fail."""
    raise FAILURES[how]


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


def played(environment, replies, actor="react", **options):
    model = ScriptedChatModel(replies=replies)
    options = {"strategy": "retry", "max_trials": 1, **options}
    graph = create_reflexion(model, environment, actor=actor, **options).compile()
    return graph.invoke({"task": environment.tasks()[0]}), model


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
    final, model = played(environment, replies, actor)
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
    final, model = played(environment, replies, actor)
    six, seven, often, missing, _ = observations(final)
    assert (six, seven) == ("6", "7")
    assert often.startswith("Invalid action: add-up, how: must be twice or once, not 'often'")
    assert missing.startswith("Invalid action: add-up, how: is missing")
    assert final["status"] == "solved"
    assert (
        actor == "tools"
        or (
            "- add-up[{a}, {how}]\n  Add. {a}: one; {how}: how often (twice or once). "
            "Further arguments, if all are written as one JSON object: {more}: a JSON object with by."
        )
        in model.prompts[0][0].text
    )


@pytest.mark.parametrize(
    ("how", "said"),
    [("softly", "ToolException('no')"), ("badly", "ZeroDivisionError('by 0')")],
    ids=["tool", "other"],
)
def test_an_exception_of_a_tool_is_an_observation(how, said):
    environment = ToolEnvironment([fail], ["Fail."], lambda task, answer: True)
    final, _ = played(environment, [f"Action: fail[{how}]", "Action: finish[done]"])
    assert observations(final)[0] == f"Error: {said}\n Please fix your mistakes."
    assert final["status"] == "solved"


def test_a_fault_of_a_tool_is_a_fault():
    final, _ = played(ToolEnvironment([fail], ["Fail."], lambda task, answer: True), ["Action: fail[outside]"])
    assert (final["status"], final["fault"]) == ("fault", "away")


def test_each_trial_has_fresh_tools_which_are_closed_after_it():
    environment, made = notebook()
    lines = [f"Action: write[{each}]" for each in "abc"]
    final, _ = played(
        environment, ["Action: finish[]", "Action: finish[done]", *lines, "Action: finish[.]"], max_trials=2
    )
    assert [trial["verdict"] for trial in final["trials"]] == [False, True]
    assert observations(final) == ["1 lines", "2 lines", "3 lines", "The task is solved. There are 3 lines."]
    assert made == ["open", "closed"] * 3  # the first time for the schemas


def test_a_trial_that_is_stopped_is_checked_by_its_state():
    environment, _ = notebook()
    final, _ = played(environment, [f"Action: write[{each}]" for each in "abc"] + ["Action: write[c]"] * 40)
    assert final["trials"][0]["stop_reason"] == "inefficient planning"
    assert observations(final)[-1].startswith("The task is not solved. There are")


def test_a_tool_that_returns_directly_ends_the_task():
    @tool(return_direct=True)
    def book(seat: int) -> str:
        """Book a seat."""
        return f"booked {seat}"

    environment = ToolEnvironment([book], ["Book seat 7."], lambda task, answer: answer == "booked 7", finish=None)
    final, _ = played(environment, ["Action: book[7]"])
    assert observations(final) == ["booked 7\nThe task is solved."]
    assert final["status"] == "solved"


def test_an_asynchronous_context_manager_is_left_by_the_task_that_entered_it():
    tasks = []

    @contextlib.asynccontextmanager
    async def session(task):
        tasks.append(asyncio.current_task())
        yield [add_tool()]
        tasks.append(asyncio.current_task())

    environment = ToolEnvironment(session, ["Add."], lambda task, answer: answer == "6")
    final, _ = played(environment, ["Action: add-up[3, twice]", "Action: finish[6]"])
    assert final["status"] == "solved"
    assert len(tasks) == 4
    assert tasks[::2] == tasks[1::2]


def test_tools_may_differ_by_task():
    def tools(task):
        def act(**args: int) -> str:
            return str(args)

        schema = {
            "properties": {task["data"]["argument"]: {"type": "integer"}},
            "required": [task["data"]["argument"]],
        }
        return [StructuredTool(name=task["data"]["name"], description="Act.", args_schema=schema, func=act)]

    tasks = [{"instruction": "Act.", "id": each, "data": {"name": each, "argument": f"{each}_of"}} for each in "fg"]
    environment = ToolEnvironment(tools, tasks, lambda task, answer: answer == task["id"])
    model = ScriptedChatModel(replies=["Action: g[1]", "Action: f[1]", "Action: finish[g]"])
    graph = create_reflexion(model, environment, max_trials=1).compile()
    final = graph.invoke({"task": environment.tasks()[1]})
    assert observations(final)[0] == "{'g_of': 1}"
    assert observations(final)[1].startswith("Invalid action: there is no action 'f[1]'. Allowed actions: g[{g_of}]")
    assert "- g[{g_of}]" in model.prompts[0][0].text
    assert final["status"] == "solved"


KINDS = {
    "replay": {"replayable": True},
    "snapshot": {"snapshot": lambda state: list(state), "restore": lambda state, saved: state.extend(saved)},
    "neither": {},
}


@pytest.mark.parametrize("kind", KINDS)
def test_a_trial_is_resumed_after_its_process_ended(kind):
    saver, config = InMemorySaver(), {"configurable": {"thread_id": "1"}}
    said = []

    def reply(messages):
        said.append(len(messages) // 2)
        return f"Action: {['write[a]', 'write[b]', 'write[c]', 'finish[.]'][len(messages) // 2 - 1]}"

    def graph():
        environment, made = notebook(**KINDS[kind])
        model = ScriptedChatModel(replies=reply)
        return create_reflexion(model, environment, max_trials=1).compile(checkpointer=saver), environment, made

    first, environment, _ = graph()
    for update in first.stream({"task": environment.tasks()[0]}, config, durability="sync"):
        if "observe" in update and len(said) == 2:
            break
    again, _, made = graph()
    final = again.invoke(None, config)
    assert final["status"] == "solved"
    assert observations(final) == ["1 lines", "2 lines", "3 lines", "The task is solved. There are 3 lines."]
    assert made == ["open", "closed"]
    (record,) = final["trials"]
    assert record["actions"] == 4
    assert [("starts over" in note) for note in record["notes"]] == ([True] if kind == "neither" else [])
    assert said == ([1, 2, 3, 1, 2, 3, 4] if kind == "neither" else [1, 2, 3, 4])


def test_a_stopped_trial_whose_world_was_lost_is_a_fault_and_then_begins_anew():
    saver, config = InMemorySaver(), {"configurable": {"thread_id": "1"}}
    replies = iter([*"abcd", *"abc"])

    def graph():
        environment, _ = notebook()
        model = ScriptedChatModel(replies=lambda _: f"Action: write[{next(replies)}]")
        options = {
            "strategy": "retry",
            "max_trials": 1,
            "heuristic": lambda steps: "long" if len(steps) > stop else None,
        }
        return create_reflexion(model, environment, **options).compile(checkpointer=saver), environment

    stop = 3
    first, environment = graph()
    for update in first.stream({"task": environment.tasks()[0]}, config, durability="sync"):
        if update.get("heuristic_check", {}).get("stop_reason"):
            break
    stop = 2
    again, _ = graph()
    lost = again.invoke(None, config)
    assert lost["status"] == "fault"
    assert "starts over" in lost["fault"]
    again.update_state(config, *resume_point(lost))
    final = again.invoke(None, config)
    assert final["status"] == "solved"
    assert observations(final)[:3] == ["1 lines", "2 lines", "3 lines"]


def test_conformance():
    environment, _ = notebook(replayable=True)
    check_environment(environment, actions=["write[a]", 'write[{"text": "b, [c]"}]', "write[d\ne]"])
    check_environment(ToolEnvironment([add_tool(), fail], ["Add."], lambda task, answer: True))
    check_environment(notebook(**KINDS["snapshot"])[0])


@pytest.mark.parametrize(
    ("text", "args"),
    [
        ("write[a, b]", {"text": "a, b"}),
        ("write[x = y[0]\nprint(x)]", {"text": "x = y[0]\nprint(x)"}),
        ('write[{"text": "a]"}]', {"text": "a]"}),
        ('write[{"other": 1}]', {"text": '{"other": 1}'}),
        ("write[a] and then some", {"text": "a"}),
    ],
    ids=["comma", "lines", "object", "json", "prose"],
)
def test_an_action_is_read_from_text(text, args):
    environment, _ = notebook()
    action = read_reply(f"Thought: I write.\nAction: {text}", environment.parse)["action"]
    assert (action["args"] if action["name"] else None) == args


@pytest.mark.parametrize("text", ["a", "a\nb[0", '{"text": "x"}', " a ", "[", ""], ids=str)
def test_a_call_as_text_is_read_as_the_same_call(text):
    environment, _ = notebook()
    action = environment.read_call("write", {"text": text})
    assert environment.parse(action["text"])["args"] == {"text": text}


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"tasks": []}, "tasks is empty"),
        ({"tasks": [{"instruction": "x", "answer": 3}]}, "answer: put"),
        ({"check": lambda task, outcome, reward: True}, "outcome, reward"),
        ({"snapshot": lambda: 1}, "go together"),
    ],
    ids=["no tasks", "unknown field", "unknown parameter", "snapshot alone"],
)
def test_wrong_arguments(options, why):
    with pytest.raises(ConfigurationError, match=why):
        ToolEnvironment(**{"tools": [fail], "tasks": ["x"], "check": lambda task, answer: True, **options})


def test_two_tools_of_one_name():
    with pytest.raises(ConfigurationError, match="two tools"):
        ToolEnvironment([fail, fail], ["x"], lambda task, answer: True).actions()
