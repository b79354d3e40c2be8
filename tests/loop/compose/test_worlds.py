"""The world of a wrapped agent: what a trial finds of the trials before it, and what is there in the end."""

import operator
from pathlib import Path
from typing import Annotated, Any, TypedDict

import pytest
from deepagents import create_deep_agent
from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware
from langchain_core.messages import AIMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, StateGraph
from langgraph.graph.message import add_messages
from langgraph.types import Command, interrupt
from pydantic import BaseModel

from langgraph_reflexion import (
    Budget,
    Budgets,
    CommandEvaluator,
    ConfigurationError,
    Fault,
    ReflexionMiddleware,
    WorkspaceFolder,
    WrappedAgent,
    create_reflexion,
    resume_point,
)
from langgraph_reflexion.agents import AgentState
from langgraph_reflexion.testing import ScriptedChatModel
from tests.support.composing import TASK, THREAD, call

INPUT: Any = {"messages": [{"role": "user", "content": TASK}]}
TRACES = "Earlier trials may have left traces"


def reflecting() -> ScriptedChatModel:
    return ScriptedChatModel(replies=lambda prompt: "Append more.")


def appending(folder: Path) -> tuple[ScriptedChatModel, list[Any]]:
    """The model and the tools of an agent that appends one line to a file and is done."""

    @tool
    def append() -> str:
        """Append a line."""
        with (folder / "lines").open("a") as file:
            file.write("line\n")
        return "appended"

    model = ScriptedChatModel(replies=lambda seen: "Done." if seen[-1].type == "tool" else call("append"))
    return model, [append]


def three_lines(folder: Path) -> CommandEvaluator:
    return CommandEvaluator("test $(wc -l < lines) -ge 3", cwd=folder)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "repository"
    (made / "empty").mkdir(parents=True)
    (made / "lines").write_text("")
    (made / ".git").mkdir()
    (made / ".git" / "config").write_text("mine")
    return made


@pytest.mark.parametrize("way", ["graph", "middleware"])
def test_an_agent_that_leaves_traces_fails_in_a_folder_that_is_reset(folder: Path, tmp_path: Path, way: str) -> None:
    model, tools = appending(folder)
    kept = WorkspaceFolder(folder, store=tmp_path / "store")
    options: dict[str, Any] = {"evaluator": three_lines(folder), "max_trials": 4}
    if way == "graph":
        actor = WrappedAgent(create_agent(model, tools), reset=kept)
        final = create_reflexion(reflecting(), actor=actor, **options).compile().invoke(INPUT)
    else:
        middleware = [ReflexionMiddleware(reflecting(), reset=kept, **options)]
        final = create_agent(model, tools, middleware=middleware).invoke(INPUT)
    outcome = final["messages"][-1].response_metadata["reflexion"]
    assert (outcome["status"], outcome["trials"]) == ("failed", 4)
    assert (folder / "lines").read_text() == "line\n"
    told = "\n".join(message.text for message in model.prompts[-1])
    assert "Nothing of what you did in earlier trials is there any more" in told


def test_without_a_reset_the_prompt_warns_of_traces(folder: Path) -> None:
    model, tools = appending(folder)
    agent = create_agent(model, tools)
    final = create_reflexion(reflecting(), actor=agent, evaluator=three_lines(folder)).compile().invoke(INPUT)
    assert final["trial"] == 3, "solved on what the trials before had left"
    assert TRACES in "\n".join(message.text for message in model.prompts[-1])
    assert TRACES not in "\n".join(message.text for message in model.prompts[0])


def test_the_best_trials_files_are_there_in_the_end(folder: Path, tmp_path: Path) -> None:
    trials = iter((1, 2, 3))

    def work(task: str) -> str:
        number = next(trials)
        (folder / "lines").write_text("x" * number)
        (folder / f"new{number}").mkdir()
        (folder / f"new{number}" / "file").write_text("new")
        if number == 1:
            (folder / "empty").rmdir()
            (folder / "empty").symlink_to(tmp_path)
            (folder / "nested" / "empty").mkdir(parents=True)
        return str(number)

    agent = WrappedAgent(work, reset=WorkspaceFolder(folder, store=tmp_path / "store"))
    graph = create_reflexion(reflecting(), actor=agent, evaluator=lambda t, r: {"1": 0.1, "2": 0.7, "3": 0.3}[r])
    final = graph.compile().invoke({"task": TASK})
    assert (final["best"], final["result"]) == (2, "2")
    assert (folder / "lines").read_text() == "xx"
    assert sorted(path.name for path in folder.iterdir()) == [".git", "empty", "lines", "new2"]
    assert not (folder / "empty").is_symlink()
    assert (folder / ".git" / "config").read_text() == "mine"
    assert tmp_path.is_dir()


def test_a_run_whose_folder_another_run_has_restored_is_refused(folder: Path, tmp_path: Path) -> None:
    agent = WrappedAgent(asking([]), reset=WorkspaceFolder(folder, store=tmp_path / "store"))
    graph = create_reflexion("demo", actor=agent, evaluator=lambda result: True).compile(checkpointer=InMemorySaver())
    other: Any = {"configurable": {"thread_id": "2"}}
    for thread in (THREAD, other):
        assert graph.invoke(INPUT, thread)["__interrupt__"]
    assert graph.invoke(Command(resume="yes"), other)["status"] == "solved"
    with pytest.raises(ConfigurationError, match="another run has restored the world"):
        graph.invoke(Command(resume="yes"), THREAD)


def test_a_world_that_cannot_be_saved_is_a_fault(folder: Path, tmp_path: Path) -> None:
    class Lost(WorkspaceFolder):
        saves = 0

        def save(self) -> dict[str, Any]:
            self.saves += 1
            if self.saves == 2:
                raise OSError("the disk is full")
            return super().save()

    agent = WrappedAgent(lambda task: "1", reset=Lost(folder, store=tmp_path / "store"))
    graph = create_reflexion(reflecting(), actor=agent, evaluator=lambda t, r: True).compile(
        checkpointer=InMemorySaver()
    )
    final = graph.invoke({"task": TASK}, THREAD)
    assert (final["status"], final["fault"]) == ("fault", "the world could not be saved: OSError: the disk is full")
    graph.update_state(THREAD, *resume_point(final))
    assert graph.invoke(None, THREAD)["status"] == "solved"


@pytest.mark.parametrize("path", ["nowhere", "."])
def test_a_folder_that_is_not_there_or_holds_its_own_store_is_refused(tmp_path: Path, path: str) -> None:
    with pytest.raises(ConfigurationError, match=r"there is no folder|overlap"):
        WorkspaceFolder(tmp_path / path, store=tmp_path / "store")


class Basket(TypedDict, total=False):
    messages: Annotated[list[Any], add_messages]
    things: list[str]


def basket(prices: dict[str, int] | None = None) -> Any:
    """A graph that puts one more thing into its basket."""

    def add(state: Basket) -> Basket:
        things = [*state.get("things", []), f"thing {len(state.get('things', [])) + 1}"]
        if prices is not None:
            prices["calls"] = prices.get("calls", 0) + 1
        return {"things": things, "messages": [AIMessage(f"I have {len(things)}.")]}

    return StateGraph(Basket).add_node("add", add).add_edge(START, "add").compile()


def test_the_agents_own_state_begins_as_the_caller_gave_it_and_the_best_comes_back() -> None:
    seen: list[Any] = []

    def verify(result: str, state: dict[str, Any]) -> float:
        seen.append(state["things"])
        return 0.0

    graph = create_reflexion(reflecting(), actor=basket(), evaluator=verify).compile(checkpointer=InMemorySaver())
    final = graph.invoke({**INPUT, "things": ["given"]}, THREAD)
    assert seen == [["given", "thing 2"]] * 3
    assert final["things"] == ["given", "thing 2"]
    assert graph.invoke(INPUT, THREAD)["things"] == ["given", "thing 2", "thing 3"], "the next task goes on from it"


def test_an_agent_that_changes_its_state_in_place_leaves_nothing_to_the_next_trial() -> None:
    seen: list[Any] = []

    def add(state: Basket) -> Basket:
        state["things"].append("thing")
        return {"messages": [AIMessage("Added.")]}

    agent = StateGraph(Basket).add_node("add", add).add_edge(START, "add").compile()
    verify = lambda state: seen.append(len(state["things"])) or False  # type: ignore[func-returns-value]  # noqa: E731
    create_reflexion(reflecting(), actor=agent, evaluator=verify).compile().invoke({**INPUT, "things": []})
    assert seen == [1, 1, 1]


class Report(BaseModel):
    lines: list[str] = []


class Reporting(TypedDict, total=False):
    messages: Annotated[list[Any], add_messages]
    report: Report


@pytest.mark.parametrize("way", ["graph", "middleware"])
def test_pydantic_objects_in_the_agents_state_stay_what_they_are(way: str) -> None:
    seen: list[Any] = []

    def verify(state: dict[str, Any]) -> bool:
        seen.append(state["report"].lines)
        return len(seen) == 2

    def work(state: Reporting) -> dict[str, Any]:
        state["report"].lines.append("line")
        return {"report": state["report"], "messages": [AIMessage("Done.")]}

    agent: Any
    if way == "graph":
        inner = StateGraph(Reporting).add_node("work", work).add_edge(START, "work").compile()
        agent = create_reflexion(reflecting(), actor=inner, evaluator=verify).compile(checkpointer=InMemorySaver())
    else:

        class Working(AgentMiddleware[Any, Any, Any]):
            state_schema = Reporting

            def before_model(self, state: Any, runtime: Any) -> Any:
                return {"report": work(state)["report"]}

        around = ReflexionMiddleware(reflecting(), evaluator=verify, state_schema=Reporting)
        model = ScriptedChatModel(replies=lambda messages: "Done.")
        agent = create_agent(model, [], middleware=[Working(), around], checkpointer=InMemorySaver())
    assert agent.invoke({**INPUT, "report": Report()}, THREAD)["report"] == Report(lines=["line"])
    assert seen == [["line"]] * 2


def test_reset_is_called_before_each_trial_and_may_give_state() -> None:
    resets: list[str] = []

    def reset(task: str) -> dict[str, Any]:
        resets.append(task)
        return {"things": ["reset"] * len(resets)}

    graph = create_reflexion(
        reflecting(), actor=WrappedAgent(basket(), reset=reset), evaluator=lambda task, result: result == "I have 3."
    )
    final = graph.compile().invoke({**INPUT, "things": ["given"]})
    assert (final["trial"], final["things"], resets) == (2, ["reset", "reset", "thing 3"], [TASK] * 2)


def test_trouble_in_a_reset_is_a_fault_and_a_trial_that_starts_over_has_a_fresh_world() -> None:
    world: list[str] = []
    trouble: list[Exception] = [OSError("no network")]
    down = ["no database"]

    def reset(task: str) -> None:
        if down:
            raise Fault(down.pop(), transient=False)
        world.clear()

    def work(task: str) -> str:
        world.append("worked")
        if trouble:
            raise trouble.pop()
        return f"{len(world)}"

    graph = create_reflexion("demo", actor=WrappedAgent(work, reset=reset), evaluator=lambda t, r: r == "1").compile(
        checkpointer=InMemorySaver()
    )
    stopped = graph.invoke(INPUT, THREAD)
    for cause in ("no database", "the agent failed: OSError: no network", "no database"):
        assert (stopped["status"], stopped["fault"]) == ("fault", cause)
        down += ["no database"] if "network" in cause else []
        graph.update_state(THREAD, *resume_point(stopped))
        stopped = graph.invoke(None, THREAD)
    assert stopped["status"] == "solved"


def test_a_trial_that_a_budget_cut_short_is_resumed_in_a_fresh_world(folder: Path, tmp_path: Path) -> None:
    _, tools = appending(folder)
    model = ScriptedChatModel(replies=lambda seen: "Done." if len(seen) == 5 else call("append"))
    agent = WrappedAgent(create_agent(model, tools), reset=WorkspaceFolder(folder, store=tmp_path / "store"))
    saver = InMemorySaver()

    def graph(tokens: int) -> Any:
        options: dict[str, Any] = {"evaluator": lambda result: True, "budgets": Budgets(task=Budget(tokens=tokens))}
        return create_reflexion("demo", actor=agent, **options).compile(checkpointer=saver)

    stopped = graph(20).invoke(INPUT, THREAD)
    assert (stopped["status"], (folder / "lines").read_text()) == ("budget", "line\n")
    larger = graph(1000)
    larger.update_state(THREAD, *resume_point(stopped))
    assert larger.invoke(None, THREAD)["status"] == "solved"
    assert (folder / "lines").read_text() == "line\nline\n"


def test_a_best_world_that_does_not_come_back_is_a_fault() -> None:
    class Lost:
        trial = 0

        def save(self) -> dict[str, Any]:
            return {"trial": self.trial}

        def restore(self, saved: dict[str, Any]) -> None:
            if saved["trial"] == 1:
                raise OSError("the disk is full")
            self.trial += 1

    agent = WrappedAgent(lambda task: "1", reset=(world := Lost()))
    graph = create_reflexion(reflecting(), actor=agent, evaluator=lambda t, r: 0.5 / world.trial, max_trials=2)
    final = graph.compile().invoke({"task": TASK})
    assert (final["status"], final["best"]) == ("fault", 1)
    assert final["fault"] == "the best trial's world could not be restored: OSError: the disk is full"


class Facts(TypedDict, total=False):
    messages: Annotated[list[Any], add_messages]
    facts: Annotated[list[str], operator.add]


class FactsAround(AgentState, total=False):
    facts: Annotated[list[str], operator.add]


def test_the_agents_keys_come_back_once_where_both_states_have_a_reducer() -> None:
    agent = StateGraph(Facts).add_node("find", lambda s: {"facts": ["new"], "messages": [AIMessage("x")]})
    options: dict[str, Any] = {"evaluator": lambda result: True, "state_schema": FactsAround}
    graph = create_reflexion("demo", actor=agent.add_edge(START, "find").compile(), **options).compile()
    assert graph.invoke({**INPUT, "facts": ["given"]})["facts"] == ["given", "new"]


def test_reset_that_returns_something_else_is_refused() -> None:
    agent = WrappedAgent(basket(), reset=lambda task: 5)
    with pytest.raises(ConfigurationError, match="got int"):
        create_reflexion("demo", actor=agent, evaluator=lambda t, r: True).compile().invoke(INPUT)


def test_make_gives_each_trial_a_fresh_agent() -> None:
    stocks: list[dict[str, int]] = []

    def make(task: str) -> Any:
        stocks.append({})
        return basket(stocks[-1])

    graph = create_reflexion(reflecting(), actor=WrappedAgent(make=make), evaluator=lambda t, r: len(stocks) == 3)
    assert graph.compile().invoke(INPUT)["trial"] == 3
    assert stocks == [{"calls": 1}] * 3
    with pytest.raises(ConfigurationError, match=r"make="):
        WrappedAgent(basket(), make=make)


class Talk(TypedDict):
    messages: Annotated[list[Any], add_messages]


def asking(world: list[str]) -> Any:
    def work(state: Talk) -> dict[str, Any]:
        world.append("worked")
        return {"messages": [AIMessage("I worked.")]}

    def ask(state: Talk) -> dict[str, Any]:
        return {"messages": [AIMessage(f"{interrupt('Well?')} {len(world)}")]}

    builder = StateGraph(Talk).add_node("work", work).add_node("ask", ask)
    return builder.add_edge(START, "work").add_edge("work", "ask").compile()


def test_an_interrupt_that_nothing_could_resume_is_an_error_and_no_result() -> None:
    agent = asking([]).builder.compile(checkpointer=InMemorySaver())
    graph = create_reflexion("demo", actor=agent, evaluator=lambda result: True).compile()
    with pytest.raises(ConfigurationError, match=r"interrupted its run.*compile\(checkpointer="):
        graph.invoke(INPUT)


def test_a_task_that_is_handed_on_leaves_no_live_world() -> None:
    hand_on = Command(goto="other", graph=Command.PARENT, update={"messages": [AIMessage("Over to you.")]})
    agent = StateGraph(Talk).add_node("hand on", lambda state: hand_on).add_edge(START, "hand on").compile()
    reflexion = create_reflexion("demo", actor=agent, evaluator=lambda result: True)
    parent = StateGraph(Talk).add_node("first", reflexion.compile()).add_node("other", lambda state: {})
    final = parent.add_edge(START, "first").compile().invoke(INPUT)
    assert final["messages"][-1].text == "Over to you."
    assert reflexion.pool._live == []


@pytest.mark.parametrize("process", ["the same", "another"])
def test_a_graph_that_was_interrupted_continues_in_the_world_of_its_trial(process: str) -> None:
    world: list[str] = []
    agent = WrappedAgent(asking(world), reset=lambda task: world.clear())
    saver = InMemorySaver()

    def compiled() -> Any:
        verify = lambda task, result: result == "yes 1"  # noqa: E731
        return create_reflexion(reflecting(), actor=agent, evaluator=verify).compile(checkpointer=saver)

    graph = compiled()
    graph.invoke(INPUT, THREAD)
    assert world == ["worked"]
    graph = graph if process == "the same" else compiled()
    graph.invoke(Command(resume="no"), THREAD)
    assert world == ["worked"], "reset, and worked again in the second trial"
    assert graph.invoke(Command(resume="yes"), THREAD)["status"] == "solved"


@pytest.mark.parametrize("process", ["the same", "another"])
@pytest.mark.parametrize("where", ["function", "first node", "second node"])
def test_after_a_bug_an_agent_finds_the_world_of_the_place_where_it_goes_on(where: str, process: str) -> None:
    world: list[str] = []
    bugs = [ZeroDivisionError("a bug")]

    def work(state: Any) -> dict[str, Any]:
        world.append("worked")
        if where != "second node" and bugs:
            raise bugs.pop()
        return {"messages": [AIMessage("I worked.")]}

    def answer(state: Talk) -> dict[str, Any]:
        if bugs:
            raise bugs.pop()
        return {"messages": [AIMessage(f"{len(world)}")]}

    def work_and_answer(task: str) -> str:
        work(task)
        return f"{len(world)}"

    nodes = StateGraph(Talk).add_node("work", work).add_node("answer", answer).add_edge(START, "work")
    agent: Any = work_and_answer if where == "function" else nodes.add_edge("work", "answer").compile()
    saver = InMemorySaver()

    def compiled() -> Any:
        wrapped = WrappedAgent(agent, reset=lambda task: world.clear())
        return create_reflexion("demo", actor=wrapped, evaluator=lambda t, r: r == "1").compile(checkpointer=saver)

    graph = compiled()
    with pytest.raises(ZeroDivisionError):
        graph.invoke(INPUT, THREAD)
    final = (graph if process == "the same" else compiled()).invoke(None, THREAD)
    assert (final["status"], final["trial"], world) == ("solved", 1, ["worked"])


GIVEN = {"content": "hi", "encoding": "utf-8", "created_at": "2026-01-01", "modified_at": "2026-01-01"}


def test_a_deep_agents_files_of_earlier_trials_are_gone_when_reset_gives_it_files() -> None:
    listed: list[str] = []

    def reply(messages: list[Any]) -> AIMessage:
        if messages[-1].type == "human":
            return call("ls", path="/")
        if messages[-1].name == "ls":
            listed.append(messages[-1].text)
            return call("write_file", file_path=f"/trial{len(listed)}.txt", content="x")
        return AIMessage("Done.")

    reset = lambda task: {"files": {"/reset.txt": GIVEN}}  # noqa: E731
    around = ReflexionMiddleware(reflecting(), evaluator=lambda result: False, reset=reset)
    create_deep_agent(ScriptedChatModel(replies=reply), middleware=[around]).invoke(INPUT)
    assert listed == ["['/reset.txt']"] * 3


@pytest.mark.parametrize("way", ["graph", "middleware"])
def test_a_deep_agent_finds_the_callers_files_and_no_others(way: str) -> None:
    listed: list[str] = []

    def reply(messages: list[Any]) -> AIMessage:
        last = messages[-1]
        if last.type == "human":
            return call("ls", path="/")
        if last.name == "ls":
            listed.append(last.text)
            return call("write_file", file_path=f"/trial{len(listed)}.txt", content="x")
        return AIMessage(f"Done {len(listed)}.")

    def verify(task: str, result: str, state: dict[str, Any]) -> float:
        assert sorted(state["files"]) == ["/given.txt", f"/trial{len(listed)}.txt"]
        return {"Done 2.": 0.7}.get(result, 0.2)

    model = ScriptedChatModel(replies=reply)
    if way == "graph":
        agent = create_reflexion(reflecting(), actor=create_deep_agent(model), evaluator=verify).compile()
    else:
        agent = create_deep_agent(model, middleware=[ReflexionMiddleware(reflecting(), evaluator=verify)])
    final = agent.invoke({**INPUT, "files": {"/given.txt": GIVEN}})
    assert listed == ["['/given.txt']"] * 3
    assert sorted(final["files"]) == ["/given.txt", "/trial2.txt"]
    assert final["messages"][-1].text == "Done 2."
