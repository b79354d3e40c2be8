"""The world of a wrapped agent: what a trial finds of the trials before it, and what is there in the end."""

import operator
from typing import Annotated, Any

import pytest
from deepagents import create_deep_agent
from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware
from langchain_core.messages import AIMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import Command, interrupt
from pydantic import BaseModel

import langgraph_reflexion as lr
from langgraph_reflexion.agents import WrappedAgentState
from langgraph_reflexion.envs.workspace.folder import WorkspaceFolder
from langgraph_reflexion.errors import Fault
from langgraph_reflexion.evaluators.function import CommandEvaluator
from langgraph_reflexion.testing import ScriptedChatModel
from tests.support.composing import TASK, THREAD, call

pytestmark = pytest.mark.slow

INPUT = {"messages": [{"role": "user", "content": TASK}]}


def reflecting():
    return ScriptedChatModel(replies=lambda prompt: "Append more.")


def solving(actor, evaluator, saver=None, **options):
    graph = lr.create_reflexion(reflecting(), actor=actor, evaluator=evaluator, **options)
    return graph.compile(checkpointer=saver or InMemorySaver())


def chain(schema, *nodes):
    """A graph of these nodes, one after the other."""
    return StateGraph(schema).add_sequence(nodes).add_edge(START, nodes[0].__name__).compile()


def appending(folder, calls=1):
    """The model and the tools of an agent that appends lines to a file and is done."""

    @tool
    def append() -> str:
        """Append a line."""
        with (folder / "lines").open("a") as file:
            file.write("line\n")
        return "appended"

    def reply(seen):
        return "Done." if [each.type for each in seen].count("tool") == calls else call("append")

    return ScriptedChatModel(replies=reply), [append]


@pytest.fixture
def folder(tmp_path):
    made = tmp_path / "repository"
    (made / "empty").mkdir(parents=True)
    (made / "lines").write_text("")
    (made / ".git").mkdir()
    (made / ".git" / "config").write_text("mine")
    return made


@pytest.fixture
def kept(folder, tmp_path):
    return WorkspaceFolder(folder, store=tmp_path / "store")


@pytest.mark.parametrize(
    ("way", "status", "lines", "shown"),
    [
        ("graph", "failed", 1, "at this task were not accepted."),
        ("middleware", "failed", 1, "at this task were not accepted."),
        ("no reset", "solved", 3, "Earlier attempts may have left traces"),
    ],
)
def test_a_trial_finds_traces_only_in_a_folder_that_is_not_reset(folder, kept, way, status, lines, shown):
    model, tools = appending(folder)
    verify = CommandEvaluator("test $(wc -l < lines) -ge 3", cwd=folder)
    if way == "middleware":
        around = lr.ReflexionMiddleware(reflecting(), evaluator=verify, reset=kept)
        agent = create_agent(model, tools, middleware=[around])
    else:
        agent = solving(lr.WrappedAgent(create_agent(model, tools), reset=kept if way == "graph" else None), verify)
    outcome = agent.invoke(INPUT, THREAD)["messages"][-1].response_metadata["reflexion"]
    assert (outcome["status"], outcome["trials"]) == (status, 3)
    assert (folder / "lines").read_text() == "line\n" * lines
    first, last = ("\n".join(message.text for message in model.prompts[at]) for at in (0, -1))
    assert (shown in first, shown in last) == (False, True)
    assert ("left traces" in last) == (way == "no reset")


def test_the_best_trials_files_are_there_in_the_end(folder, kept, tmp_path):
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

    graph = solving(lr.WrappedAgent(work, reset=kept), lambda t, r: {"1": 0.1, "2": 0.7, "3": 0.3}[r])
    final = graph.invoke({"task": TASK}, THREAD)
    assert (final["best"], final["result"], (folder / "lines").read_text()) == (2, "2", "xx")
    assert sorted(path.name for path in folder.iterdir()) == [".git", "empty", "lines", "new2"]
    assert not (folder / "empty").is_symlink()
    assert (folder / ".git" / "config").read_text() == "mine"
    assert tmp_path.is_dir()


def test_a_run_whose_folder_another_run_has_restored_is_refused(kept):
    graph = solving(lr.WrappedAgent(asking([]), reset=kept), lambda result: True)
    other = {"configurable": {"thread_id": "2"}}
    for thread in (THREAD, other):
        assert graph.invoke(INPUT, thread)["__interrupt__"]
    assert graph.invoke(Command(resume="yes"), other)["status"] == "solved"
    with pytest.raises(lr.ConfigurationError, match="another run has restored the world"):
        graph.invoke(Command(resume="yes"), THREAD)


class Failing:
    """A world that cannot be saved the second time, or not restored to its first trial."""

    def __init__(self, fails):
        self.fails, self.trial, self.saves = fails, 0, 0

    def save(self):
        self.saves += 1
        if self.fails == "save" and self.saves == 2:
            raise OSError("the disk is full")
        return {"trial": self.trial}

    def restore(self, saved):
        if self.fails == "restore" and saved["trial"] == 1:
            raise OSError("the disk is full")
        self.trial += 1


@pytest.mark.parametrize(
    ("fails", "fault"),
    [("save", "the world could not be saved"), ("restore", "the best trial's world could not be restored")],
)
def test_a_world_that_cannot_be_saved_or_restored_is_a_fault(fails, fault):
    world = Failing(fails)
    graph = solving(lr.WrappedAgent(lambda task: "1", reset=world), lambda t, r: 0.5 / world.trial, max_trials=2)
    final = graph.invoke({"task": TASK}, THREAD)
    assert (final["status"], final["fault"]) == ("fault", f"{fault}: OSError: the disk is full")
    graph.update_state(THREAD, *lr.resume_point(final))
    assert graph.invoke(None, THREAD)["status"] == ("failed" if fails == "save" else "fault")


@pytest.mark.parametrize("path", ["nowhere", "."])
def test_a_folder_that_is_not_there_or_holds_its_own_store_is_refused(tmp_path, path):
    with pytest.raises(lr.ConfigurationError, match=r"there is no folder|overlap"):
        WorkspaceFolder(tmp_path / path, store=tmp_path / "store")


class Basket(MessagesState, total=False):
    things: list[str]


def basket():
    """A graph that puts one more thing into its basket."""

    def add(state: Basket) -> Basket:
        things = [*state.get("things", []), f"thing {len(state.get('things', [])) + 1}"]
        return {"things": things, "messages": [AIMessage(f"I have {len(things)}.")]}

    return chain(Basket, add)


def test_the_agents_own_state_begins_as_the_caller_gave_it_and_the_best_comes_back():
    seen = []
    graph = solving(basket(), lambda result, state: seen.append(state["things"]) or 0.0)
    final = graph.invoke({**INPUT, "things": ["given"]}, THREAD)
    assert seen == [["given", "thing 2"]] * 3
    assert final["things"] == ["given", "thing 2"]
    assert graph.invoke(INPUT, THREAD)["things"] == ["given", "thing 2", "thing 3"], "the next task goes on from it"


class Report(BaseModel):
    lines: list[str] = []


class Reporting(Basket, total=False):
    report: Report


@pytest.mark.parametrize("way", ["graph", "middleware"])
def test_what_the_agent_changes_in_place_begins_each_trial_as_it_was(way):
    seen = []

    def verify(state: dict[str, Any]) -> bool:
        seen.append((state["report"].lines, state["things"]))
        return len(seen) == 2

    def work(state: Reporting) -> dict[str, Any]:
        state["report"].lines.append("line")
        state["things"].append("thing")
        return {"report": state["report"], "messages": [AIMessage("Done.")]}

    class Working(AgentMiddleware[Any, Any, Any]):
        state_schema = Reporting

        def before_model(self, state, runtime):
            return {"report": work(state)["report"]}

    if way == "graph":
        agent = solving(chain(Reporting, work), verify)
    else:
        around = lr.ReflexionMiddleware(reflecting(), evaluator=verify, state_schema=Reporting)
        model = ScriptedChatModel(replies=lambda messages: "Done.")
        agent = create_agent(model, [], middleware=[Working(), around], checkpointer=InMemorySaver())
    assert agent.invoke({**INPUT, "report": Report(), "things": []}, THREAD)["report"] == Report(lines=["line"])
    assert seen == [(["line"], ["thing"])] * 2


def test_trouble_in_a_reset_is_a_fault_and_a_trial_that_starts_over_has_a_fresh_world():
    world = []
    trouble = [OSError("no network")]
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

    graph = solving(lr.WrappedAgent(work, reset=reset), lambda t, r: r == "1")
    stopped = graph.invoke(INPUT, THREAD)
    for cause in ("no database", "the agent failed: OSError: no network", "no database"):
        assert (stopped["status"], stopped["fault"], stopped["messages"][-1].text) == ("fault", cause, cause)
        down += ["no database"] if "network" in cause else []
        graph.update_state(THREAD, *lr.resume_point(stopped))
        stopped = graph.invoke(None, THREAD)
    assert stopped["status"] == "solved"


def test_a_trial_that_a_budget_cut_short_is_resumed_in_a_fresh_world(folder, kept):
    agent, saver = lr.WrappedAgent(create_agent(*appending(folder, calls=2)), reset=kept), InMemorySaver()
    cut, whole = (
        solving(agent, lambda result: True, saver, budgets=lr.Budgets(task=lr.Budget(tokens=tokens)))
        for tokens in (20, 1000)
    )
    stopped = cut.invoke(INPUT, THREAD)
    assert (stopped["status"], (folder / "lines").read_text()) == ("budget", "line\n")
    whole.update_state(THREAD, *lr.resume_point(stopped))
    assert whole.invoke(None, THREAD)["status"] == "solved"
    assert (folder / "lines").read_text() == "line\nline\n"


class Facts(MessagesState, total=False):
    facts: Annotated[list[str], operator.add]


class FactsAround(WrappedAgentState, total=False):
    facts: Annotated[list[str], operator.add]


def test_the_agents_keys_come_back_once_where_both_states_have_a_reducer():
    def find(state: Facts) -> Facts:
        return {"facts": ["new"], "messages": [AIMessage("x")]}

    graph = solving(chain(Facts, find), lambda result: True, state_schema=FactsAround)
    assert "facts" in graph.get_input_jsonschema()["properties"]
    assert graph.invoke({**INPUT, "facts": ["given"]}, THREAD)["facts"] == ["given", "new"]


def test_make_gives_each_trial_a_fresh_agent():
    made = []

    def make(task: str) -> Any:
        made.append([])
        return lambda task, seen=made[-1]: seen.append(task) or "Done."

    graph = solving(lr.WrappedAgent(make=make), lambda t, r: len(made) == 3)
    assert graph.invoke({"task": TASK}, THREAD)["trial"] == 3
    assert [len(seen) for seen in made] == [1, 1, 1]


def test_impossible_worlds_and_agents_are_refused():
    with pytest.raises(lr.ConfigurationError, match="make="):
        lr.WrappedAgent(basket(), make=basket)
    with pytest.raises(lr.ConfigurationError, match="got int"):
        solving(lr.WrappedAgent(basket(), reset=lambda task: 5), lambda t, r: True).invoke(INPUT, THREAD)


def asking(world, saver=None):
    def work(state: MessagesState) -> dict[str, Any]:
        world.append("worked")
        return {"messages": [AIMessage("I worked.")]}

    def ask(state: MessagesState) -> dict[str, Any]:
        return {"messages": [AIMessage(f"{interrupt('Well?')} {len(world)}")]}

    return chain(MessagesState, work, ask).builder.compile(checkpointer=saver)


def test_an_interrupt_that_nothing_could_resume_is_an_error_and_no_result():
    actor = asking([], InMemorySaver())
    graph = lr.create_reflexion(ScriptedChatModel(replies=[]), actor=actor, evaluator=lambda result: True).compile()
    with pytest.raises(lr.ConfigurationError, match=r"interrupted its run.*compile\(checkpointer="):
        graph.invoke(INPUT)


@pytest.mark.parametrize("process", ["the same", "another"])
def test_a_graph_that_was_interrupted_continues_in_the_world_of_its_trial(process):
    world = []
    agent, saver = lr.WrappedAgent(asking(world), reset=lambda task: world.clear()), InMemorySaver()
    graph, another = (solving(agent, lambda task, result: result == "yes 1", saver) for _ in range(2))
    graph.invoke(INPUT, THREAD)
    assert world == ["worked"]
    graph = graph if process == "the same" else another
    graph.invoke(Command(resume="no"), THREAD)
    assert world == ["worked"], "reset, and worked again in the second trial"
    assert graph.invoke(Command(resume="yes"), THREAD)["status"] == "solved"


@pytest.mark.parametrize("process", ["the same", "another"])
@pytest.mark.parametrize("where", ["function", "first node", "second node"])
def test_after_a_bug_an_agent_finds_the_world_of_the_place_where_it_goes_on(where, process):
    world = []
    bugs = [ZeroDivisionError("a bug")]

    def work(state: Any) -> dict[str, Any]:
        world.append("worked")
        if where != "second node" and bugs:
            raise bugs.pop()
        return {"messages": [AIMessage("I worked.")]}

    def answer(state: MessagesState) -> dict[str, Any]:
        if bugs:
            raise bugs.pop()
        return {"messages": [AIMessage(f"{len(world)}")]}

    agent = (
        (lambda task: work(task) and f"{len(world)}") if where == "function" else chain(MessagesState, work, answer)
    )
    wrapped, saver = lr.WrappedAgent(agent, reset=lambda task: world.clear()), InMemorySaver()
    graph, another = (solving(wrapped, lambda t, r: r == "1", saver) for _ in range(2))
    with pytest.raises(ZeroDivisionError):
        graph.invoke(INPUT, THREAD)
    final = (graph if process == "the same" else another).invoke(None, THREAD)
    assert (final["status"], final["trial"], world) == ("solved", 1, ["worked"])


GIVEN = {"content": "hi", "encoding": "utf-8", "created_at": "2026-01-01", "modified_at": "2026-01-01"}


@pytest.mark.parametrize("way", ["graph with a reset", "middleware", "middleware with a reset"])
def test_a_deep_agent_finds_the_files_it_is_given_and_no_others(way):
    listed = []

    def reply(messages):
        last = messages[-1]
        if last.type == "human":
            return call("ls", path="/")
        if last.name == "ls":
            listed.append(last.text)
            return call("write_file", file_path=f"/trial{len(listed)}.txt", content="x")
        return AIMessage(f"Done {len(listed)}.")

    def verify(task: str, result: str, state: dict[str, Any]) -> float:
        assert sorted(state["files"]) == [given, f"/trial{len(listed)}.txt"]
        return {"Done 2.": 0.7}.get(result, 0.2)

    model, given = ScriptedChatModel(replies=reply), "/reset.txt" if "reset" in way else "/given.txt"
    reset = (lambda task: {"files": {given: GIVEN}}) if "reset" in way else None
    if "graph" in way:
        agent = solving(lr.WrappedAgent(create_deep_agent(model), reset=reset), verify)
    else:
        around = lr.ReflexionMiddleware(reflecting(), evaluator=verify, reset=reset)
        agent = create_deep_agent(model, middleware=[around])
    final = agent.invoke({**INPUT, "files": {"/given.txt": GIVEN}}, THREAD)
    assert listed == [f"['{given}']"] * 3
    assert (sorted(final["files"]), final["messages"][-1].text) == ([given, "/trial2.txt"], "Done 2.")
    outcome = {"status": "failed", "trials": 3, "best": 2, "score": 0.2, "fault": ""}
    assert final["messages"][-1].response_metadata["reflexion"] == outcome


class Table(list):
    """A world that is false at first, as an empty list is."""

    def save(self):
        return {"rows": [*self]}

    def restore(self, saved):
        self[:] = saved["rows"]


def test_an_empty_world_is_restored_as_any_other():
    table = Table()
    found = []

    def add_a_row(text):
        found.append(len(table))
        table.append("row")
        return "Done."

    graph = solving(lr.WrappedAgent(add_a_row, reset=table), lambda result: False, max_trials=2)
    graph.invoke({"task": TASK}, THREAD)
    assert found == [0, 0]
