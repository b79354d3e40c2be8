"""The command line with an agent, a task file and an evaluator of the user's."""

import contextlib
import json
import os
import signal
import time

import pytest

from langgraph_reflexion.agents import AgentTasks, load_tasks
from langgraph_reflexion.lab.experiments.runner import run
from langgraph_reflexion.lab.run_settings import RunSettings
from langgraph_reflexion.testing import ScriptedChatModel
from tests.faces.experiments.test_sweep import Heard
from tests.support.cli import call, forget, one_line, start
from tests.support.model_server import ModelServer

AGENT = """
import asyncio, os, signal
from langchain.agents import create_agent
from langgraph.graph import MessagesState, StateGraph
from langgraph_reflexion import Environment, WrappedAgent
from langgraph_reflexion.testing import ScriptedChatModel

def reply(messages):
    said = " ".join(message.text for message in messages)
    if "You review an attempt" in said:
        return "Italy's is Rome."
    if "Italy" in said and os.path.exists("deadly"):
        os.kill(os.getpid(), signal.SIGKILL)
    return "Paris" if "France" in said else "Rome" if "Italy's is Rome" in said else "Milan"

agent = create_agent(ScriptedChatModel(replies=reply), tools=[])
wrapped = WrappedAgent(make=lambda task: agent)

def function(task: str) -> str:
    return "Paris"

number = 3
graph = StateGraph(MessagesState)

class Class:
    def __call__(self, task: str) -> str:
        return "Paris"

async def text():
    return "Paris"

made = asyncio.run(text())

def from_loop(task: str) -> str:
    return made

def leaves(task: str) -> str:
    raise SystemExit(3)

def finds_rome(task: str) -> str:
    return "Rome"

in_turn = [function, finds_rome]
none_at_all = []
wrong = [function, 3]
"""
CHECKS = """
def verify(result, reference):
    return result == reference, f"{result} is not the capital."

async def verify_later(result, reference):
    return result == reference

def knows(result, reference):
    return result == reference, "the words of the truth"

def accept(result):
    return True

calls_it = "a text"
"""
TASKS = '{"question": "Capital of France?", "answer": "Paris"}\n{"question": "Capital of Italy?", "answer": "Rome"}\n'
RUN = ("run", "my_agent.py:agent", "--tasks", "tasks.jsonl", "--out", "run")
UNANSWERED = ("run", "my_agent.py:agent", "--tasks", "unanswered.jsonl", "--out", "run")
CHECKED = (*RUN, "--evaluator", "checks.py:verify")


@pytest.fixture
def home(tmp_path):
    (tmp_path / "my_agent.py").write_text(AGENT)
    (tmp_path / "checks.py").write_text(CHECKS)
    (tmp_path / "tasks.jsonl").write_text(TASKS)
    (tmp_path / "unanswered.jsonl").write_text(TASKS + '{"question": "Capital of Spain?"}\n')
    (tmp_path / "goal.md").write_text("A good answer:\n* names a capital\n")
    (tmp_path / "empty.md").write_text("\n")
    (tmp_path / "agents").mkdir()
    (tmp_path / "agents" / "relative.py").write_text("from .other import agent\n")
    return tmp_path


def rows(folder):
    return [json.loads(line) for line in (folder / "trials.jsonl").read_text().splitlines()]


def outcomes(folder):
    return [(row["task_id"], row["trial"], row["success"]) for row in rows(folder)]


SOLVED = [("1", 1, True), ("2", 1, False), ("2", 2, True)]


@pytest.mark.slow
def test_agent_is_run_reported_and_shown(home):
    status, out, err = call(home, *CHECKED)
    assert (status, err, "2 solved in " in out) == (0, "", True)
    assert outcomes(home / "run") == SOLVED
    recorded = json.loads((home / "run" / "run.json").read_text())["settings"]
    assert (recorded["environment"], recorded["evaluator"]) == ("my_agent.py:agent", "checks.py:verify")
    assert (recorded["model"], len(recorded["options"]["digest"])) == ("agent", 12)
    status, out, _ = call(home, "report", "run", "--json", "--html", "page.html")
    [report] = json.loads(out)["runs"]
    assert (status, report["solved"], report["verdicts"]) == (0, [1, 2, 2], None)
    assert "Capital of Italy?" in (home / "page.html").read_text()
    out = call(home, "show", "run", "2")[1]
    assert "Feedback: Milan is not the capital." in out
    assert "Reflection: Italy's is Rome." in out


@pytest.mark.slow
def test_the_truth_is_in_no_recorded_prompt_and_in_nothing_that_is_kept(home):
    assert call(home, *CHECKED, "--truth", "checks.py:knows")[0] == 0
    assert outcomes(home / "run") == SOLVED
    prompts = (home / "run" / "prompts.jsonl").read_text()
    assert "You review an attempt" in prompts
    for file in (home / "run").rglob("*"):
        if file.is_file():
            assert b"the words of the truth" not in file.read_bytes(), file


@pytest.mark.long
def test_a_run_that_is_killed_and_resumed_keeps_its_truth(home):
    """It is killed in the second task, and resumed."""
    (home / "deadly").touch()
    killed = start(home, *CHECKED, "--truth", "checks.py:knows", "--concurrency", "1")
    killed.communicate(timeout=120)
    assert killed.returncode == -signal.SIGKILL
    (home / "deadly").unlink()
    assert call(home, "resume", "run")[0] == 0
    assert outcomes(home / "run") == SOLVED
    settings = json.loads((home / "run" / "run.json").read_text())["settings"]
    assert settings["truth"] == "checks.py:knows"


@pytest.mark.slow
def test_an_experiment_file_names_the_truth(home):
    (home / "matrix.toml").write_text(
        '[common]\nevaluator = "checks.py:verify"\ntruth = "exact"\n[matrix]\nstrategies = ["retry"]\n'
        '[environments.capitals]\nenvironment = "my_agent.py:agent"\noptions = {tasks = "tasks.jsonl"}\n'
    )
    assert call(home, "experiment", "matrix.toml", "--out", "matrix")[0] == 0
    [run] = (home / "matrix").glob("*/run.json")
    assert json.loads(run.read_text())["settings"]["truth"] == "exact"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("evaluator", "options", "solved"),
    [
        ("openevals.exact:exact_match", (), [1, 2, 2]),
        ("checks.py:verify_later", ("--concurrency", "1"), [1, 2, 2]),
        ('command: test "$(cat)" = "$REFLEXION_REFERENCE"', (), [1, 2, 2]),
        ("exact", ("--limit", "1"), [1, 1, 1]),
    ],
    ids=["openevals", "async", "command", "one task"],
)
def test_evaluators_by_name_and_options_of_runs(home, evaluator, options, solved):
    status, out, err = call(home, *RUN, "--evaluator", evaluator, *options, "--json")
    assert (status, err, json.loads(out)["solved"]) == (0, "", solved)


PLAIN = ("--tasks", "tasks.jsonl", "--evaluator", "exact", "--strategy", "retry")


@pytest.mark.slow
@pytest.mark.parametrize("name", ["function", "from_loop"])
def test_a_function_without_a_model_runs_under_a_strategy_that_needs_none(home, name):
    status, out, err = call(home, "run", f"my_agent.py:{name}", *PLAIN, "--json")
    assert (status, err, json.loads(out)["statuses"]["solved"]) == (0, "", 1)


@pytest.mark.slow
def test_a_list_of_agents_has_one_for_each_trial_also_in_a_run_that_goes_on(home):
    in_turn = ("run", "my_agent.py:in_turn", *PLAIN, "--out", "run")
    assert call(home, *in_turn, "--max-trials", "1")[0] == 0
    assert outcomes(home / "run") == [("1", 1, True), ("2", 1, False)]
    assert call(home, "resume", "run", "--max-trials", "2")[0] == 0
    assert outcomes(home / "run") == SOLVED


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("none_at_all", "'my_agent.py:none_at_all' is an empty list"),
        (
            "wrong",
            "'my_agent.py:wrong[1]': an agent is a compiled graph, another runnable or a function of its input",
        ),
    ],
)
def test_a_list_that_is_not_of_agents_is_named(home, name, why):
    status, _, err = call(home, "run", f"my_agent.py:{name}", *PLAIN)
    assert (status, why in one_line(err)) == (2, True), one_line(err)


def test_an_agent_that_ends_the_process_is_named(home):
    status, _, err = call(home, "run", "my_agent.py:leaves", *PLAIN)
    assert (status, "my_agent.py, line" in one_line(err), "sys.exit(3)" in err) == (1, True, True)


@pytest.mark.slow
def test_a_run_with_changed_code_is_not_reported_as_the_new_code(home):
    limited = (*CHECKED, "--limit", "1")
    assert call(home, *limited)[0] == 0
    (home / "checks.py").write_text(CHECKS.replace("result == reference,", "True,", 1))
    status, out, err = call(home, *limited)
    assert (status, out) == (2, "")
    assert "run holds a run of other code, as checks.py has changed since" in one_line(err)

    # Whoever resumes it wants the changed code, and the report says that there are two.
    status, out, _ = call(home, "resume", "run")
    assert (status, "was changed" in out) == (0, False), "nothing was left to do"
    status, out, _ = call(home, "resume", "run", "--limit", "2")
    assert (status, "checks.py was changed while it went on" in " ".join(out.split())) == (0, True)
    assert call(home, *CHECKED, "--limit", "2")[0] == 0, "the code has not changed since"


@pytest.mark.slow
def test_after_a_bug_the_same_command_goes_on_with_the_changed_code(home):
    (home / "checks.py").write_text(CHECKS.replace("result == reference,", "1 / 0,", 1))
    assert call(home, *CHECKED)[0] == 1
    (home / "checks.py").write_text(CHECKS)
    assert call(home, *CHECKED)[0] == 0
    assert outcomes(home / "run") == SOLVED


@pytest.mark.long
def test_a_killed_run_is_resumed_unless_its_tasks_have_changed(home):
    (home / "deadly").touch()
    process = start(home, *CHECKED, "--concurrency", "1")
    process.communicate(timeout=120)
    (home / "deadly").unlink()
    assert (process.returncode, outcomes(home / "run")) == (-signal.SIGKILL, SOLVED[:1])
    (home / "tasks.jsonl").write_text(TASKS.replace("Rome", "Turin"))
    status, _, err = call(home, "resume", "run")
    assert (status, "have changed" in one_line(err)) == (2, True)
    (home / "tasks.jsonl").write_text(TASKS)
    assert call(home, "resume", "run")[::2] == (0, "")
    assert outcomes(home / "run") == SOLVED


GOING_ON = """
import os, pathlib, signal
from langchain.agents import create_agent
from langchain_core.messages import AIMessage
from langgraph_reflexion.testing import ScriptedChatModel

def note() -> str:
    "Take a note."
    with open("notes", "a") as notes:
        notes.write("note\\n")
    return "noted"

def reply(messages):
    if messages[-1].type == "tool":
        return "Done."
    if len(messages) > 4 and os.path.exists("deadly"):
        os.kill(os.getpid(), signal.SIGKILL)
    return AIMessage("", tool_calls=[{"name": "note", "args": {}, "id": f"call-{len(messages)}"}])

agent = create_agent(ScriptedChatModel(replies=reply), [note])

def twice(task, result):
    notes = pathlib.Path("notes").read_text().count("note")
    return notes == 2, f"wanted: 2 notes; got: {notes}"
"""


@pytest.mark.long
def test_a_killed_run_whose_conversation_goes_on_is_resumed_in_it(home):
    (home / "going_on.py").write_text(GOING_ON)
    (home / "tasks.jsonl").write_text(TASKS.splitlines()[0])
    (home / "deadly").touch()
    run = ("run", "going_on.py:agent", "--tasks", "tasks.jsonl", "--out", "run")
    process = start(home, *run, "--evaluator", "going_on.py:twice", "--strategy", "continue")
    process.communicate(timeout=120)
    assert (process.returncode, outcomes(home / "run")) == (-signal.SIGKILL, [("1", 1, False)])
    (home / "deadly").unlink()
    assert call(home, "resume", "run")[::2] == (0, "")
    assert outcomes(home / "run") == [("1", 1, False), ("1", 2, True)]
    shown = call(home, "show", "run", "1")[1]
    assert "In the prompt: the conversation of trial 1, which goes on." in shown
    sent = [json.loads(line) for line in (home / "run" / "prompts.jsonl").read_text().splitlines()]
    assert "What the check said: wanted: 2 notes; got: 1" in json.dumps(sent[-1])
    assert call(home, "report", "run", "--html", "page.html")[0] == 0


@pytest.mark.long
def test_workers_run_an_agent_and_an_evaluator_by_file(home):
    process = start(home, *CHECKED, "--workers", "2", "--json")
    out, err = process.communicate(timeout=120)
    assert (process.returncode, json.loads(out)["solved"]) == (0, [1, 2, 2]), err
    assert outcomes(home / "run") == SOLVED


@pytest.mark.long
def test_ctrl_c_ends_a_command_that_hangs_and_its_children(home):
    process = start(home, *RUN, "--evaluator", "command: sleep 300 & echo $! > $$.pid; wait")
    deadline = time.monotonic() + 60
    while len(found := [each.read_text() for each in home.glob("*.pid")]) < 2 or not all(found):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=20)
    assert (process.returncode, "stopped" in err) == (130, True)
    with contextlib.suppress(ProcessLookupError):
        while True:
            os.kill(int(found[0]), 0)
            assert time.monotonic() < deadline
            time.sleep(0.05)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("args", "words"),
    [
        (("run", "other.py:agent", "--tasks", "tasks.jsonl"), "no file"),
        (("run", "my_agent.py:agnt", "--tasks", "tasks.jsonl"), "has no 'agnt' (did you mean agent?)"),
        (("run", "my_agent.py:number", "--tasks", "tasks.jsonl"), "got int"),
        (("run", "my_agent.py:graph", "--tasks", "tasks.jsonl"), "got StateGraph: compile it first"),
        (("run", "my_agent.py:agent", "--tasks", "--evaluator", "exact"), "'tasks' of the agent"),
        ((*RUN, "--evaluator", "exact", "--model", "my_agent.py:number"), "is of type int, not a chat model"),
        (("run", "my_agent.py:agent", "--evaluator", "exact"), "give its tasks with --tasks FILE"),
        (("run", "my_agent.py:function", *PLAIN[:-2]), "--model (PROVIDER:NAME, "),
        (("run", "my_agent.py:function", *RUN[2:], "--evaluator", "llm"), "evaluator='llm' asks a chat model"),
        (RUN, "needs --evaluator"),
        ((*RUN, "--evaluator", "exact", "--task-feld", "x"), "did you mean task_field?"),
        ((*RUN, "--evaluator", "exact", "--actor", "react"), "leave --actor out"),
        ((*RUN, "--evaluator", "checks.py:calls_it"), "names a text"),
        ((*RUN, "--evaluator", "command: grp -q x"), "there is no program grp: install it, or correct"),
        ((*RUN, "--evaluator", "rubric: none.md"), "there is no file none.md"),
        ((*RUN, "--evaluator", "rubric:empty.md"), "empty.md: Rubric.criteria is empty"),
        (("run", "my_agent.py:function", *RUN[2:], "--evaluator", "rubric:goal.md"), "asks a chat model"),
        (("run", "my_agent.py:function", *RUN[2:], "--evaluator", "exakt"), "did you mean exact?"),
        ((*RUN, "--evaluator", "checks.py:"), "as FILE.py:NAME"),
        ((*RUN, "--evaluator", "openevals:toxicity"), "choose one of openevals:correctness, "),
        (("run", "my_agent.py:Class", "--tasks", "tasks.jsonl"), "name an instance"),
        (("run", "agents/relative.py:agent", "--tasks", "tasks.jsonl"), "PACKAGE.MODULE:NAME"),
        ((*RUN, "--evaluator", "exact", "--split", "test"), "choose one of tasks"),
        ((*RUN, "--evaluator", "exact", "--answer-field", "reply"), "line 1"),
        (
            (*UNANSWERED, "--evaluator", "checks.py:verify"),
            "verify needs a reference answer, and the task '3' has none",
        ),
        ((*UNANSWERED, "--evaluator", "checks.py:accept", "--truth", "checks.py:verify"), "the task '3' has none"),
        (("play", "my_agent.py:agent", "--tasks", "tasks.jsonl"), "no actions to play"),
    ],
)
def test_errors_say_what_to_do(home, args, words):
    status, out, err = call(home, *args)
    assert (status, out) == (2, "")
    assert words in one_line(err)
    assert not (home / "run" / "run.json").exists()


def test_wrapped_agent_and_environment_are_found_in_files(home, monkeypatch):
    monkeypatch.chdir(home)
    made = load_tasks("my_agent.py:wrapped", tasks="tasks.jsonl", seed=1)
    assert isinstance(made, AgentTasks)
    assert (made.agents[0].make is not None, len(made.tasks())) == (True, 2)
    (home / "world.py").write_text("from langgraph_reflexion.envs.alfworld.environment import ALFWorld\n")
    assert load_tasks("world.py:ALFWorld").name == "alfworld"
    forget(home)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "solved", "run"),
    [
        ("agent", [0, 3, 3], "agent.py:agent --tasks tasks.jsonl --evaluator agent.py:check"),
        ("environment", [1, 3, 3], "environment.py:Numbers --model environment.py:model --max-trials 3"),
    ],
)
def test_project_of_init_runs_at_once(tmp_path, kind, solved, run):
    """tests/long/test_packaging.py does the rest of what it says."""
    status, out, err = call(tmp_path, "init", "mine", "--kind", kind)
    assert (status, err) == (0, "")
    commands = {line.partition("#")[0].strip() for line in out.splitlines()}
    assert {"cd mine", f"langgraph-reflexion run {run} --out runs/first", "pytest"} < commands
    status, out, err = call(tmp_path / "mine", "run", *run.split(), "--json")
    assert (status, json.loads(out)["solved"]) == (0, solved)


def test_init_overwrites_nothing(tmp_path):
    (tmp_path / "tasks.jsonl").write_text("mine")
    status, _, err = call(tmp_path, "init")
    assert (status, "tasks.jsonl is already there" in one_line(err)) == (2, True)
    assert [file.name for file in tmp_path.iterdir()] == ["tasks.jsonl"]
    assert "agent, environment" in one_line(call(tmp_path, "init", "--kind", "world")[2])


TICKETS = """{"question": "Capital of Italy?", "answer": "Rome", "customer": {"name": "acme"}}
{"question": "What is the capital of Italy?", "answer": "Rome", "customer": {"name": "bolt"}}
{"question": "Name Italy's capital.", "answer": "Rome", "customer": {"name": "acme"}}
"""
OF_USERS = (*CHECKED, "--lessons", "lessons.db", "--user-field", "customer.name")


def listed(home, *more):
    return json.loads(call(home, "lessons", "list", "lessons.db", "--json", *more)[1])


@pytest.mark.slow
def test_a_batch_uses_the_lessons_of_each_rows_user(home):
    (home / "tasks.jsonl").write_text(TICKETS)
    assert call(home, *OF_USERS)[0] == 0
    rows = [json.loads(line) for line in (home / "run" / "trials.jsonl").read_text().splitlines()]
    told = {(row["task_id"], row["trial"]): len(row["lessons"]) for row in rows}
    assert told["1", 1] == told["2", 1] == 0, "nobody had a lesson, and the other's is not one's own"
    assert told["3", 1] > 0
    assert [len(listed(home, *more)) > 0 for more in ((), ("--user", "acme"), ("--user", "bolt"))] == [0, 1, 1]
    shown = call(home, "lessons", "list", "lessons.db")[1]
    assert "acme, bolt" in shown
    again = [*OF_USERS, "--frozen"]
    again[again.index("run", 1)] = "again"
    assert call(home, *again)[0] == 0
    assert json.loads((home / "again" / "run.json").read_text())["seen"] == ["1", "2", "3"]


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ((*CHECKED, "--user-field", "customer"), "--user-field names whose --lessons"),
        ((*CHECKED, "--rejects-answers"), "my_agent.py:agent samples its answers itself"),
        ((*CHECKED, "--temperature", "0,0.5,1"), "name a list of agents, one for each trial"),
        ((*OF_USERS, "--user", "ann"), "goes without --user"),
        ((*CHECKED, "--lessons", "l.db", "--user-field", "client"), "no 'client' (--user-field)"),
        ((*CHECKED, "--lessons", "l.db", "--user-field", "customer"), "line 2: the user in 'customer'"),
    ],
)
def test_a_batch_whose_users_are_not_named_is_refused(home, words, says):
    (home / "tasks.jsonl").write_text(
        '{"question": "Capital of Italy?", "answer": "Rome", "customer": "acme"}\n'
        '{"question": "Capital of Spain?", "answer": "Madrid", "customer": ""}\n'
    )
    if "customer.name" in words:
        (home / "tasks.jsonl").write_text(TICKETS)
    status, _, err = call(home, *words)
    assert status != 0
    assert says in one_line(err)
    assert not (home / "run").exists()


LOOKS = """
from langchain.agents import create_agent
from langchain_core.messages import AIMessage
from langgraph_reflexion.testing import ScriptedChatModel

def look_up(word: str) -> str:
    "Look up a word."
    return "Nothing."

def call(word):
    return {"name": "look_up", "args": {"word": word}, "id": word}

replies = [AIMessage("", tool_calls=[call("France"), call("Paris")]), "Paris"]
agent = create_agent(ScriptedChatModel(replies=replies), tools=[look_up])
"""


def test_an_observer_hears_of_each_tool_call_of_an_agent(home):
    (home / "looks.py").write_text(LOOKS)
    settings = RunSettings(
        environment=f"{home / 'looks.py'}:agent",
        options={"tasks": str(home / "tasks.jsonl")},
        evaluator=f"{home / 'checks.py'}:verify",
        strategy="retry",
        limit=1,
    )
    heard = Heard()
    run(settings, home / "run", heard)
    [_, *actions, _] = heard.told
    assert actions == [("1", 1, 'look_up(word="France")'), ("1", 2, 'look_up(word="Paris")')]


@pytest.mark.slow
def test_criteria_of_a_file_are_judged(home):
    run = ["run", "my_agent.py:function", "--tasks", "tasks.jsonl", "--out", "run", "--strategy", "feedback"]
    judge = ScriptedChatModel(replies=lambda messages: "Evidence: Paris\nMissing: nothing\nMet: yes")
    with ModelServer(judge) as server:
        judged = ["--model", "openai:any", "--base-url", server.url, "--evaluator", "rubric:goal.md"]
        status, _, err = call(home, *run, *judged, key="any")
    assert status == 0, err
    assert {row["evaluation"]["feedback"] for row in rows(home / "run")} == {"1 of 1 criteria are met."}
    assert "1. names a capital" in judge.prompts[0][0].text


@pytest.mark.slow
def test_a_batch_whose_judge_has_never_answered_stops(home):
    """A single call returns the agent's answer with a fault; of a batch, every task would end so."""
    run = ["run", "my_agent.py:function", "--tasks", "tasks.jsonl", "--out", "run", "--evaluator", "llm"]
    with ModelServer(faults=lambda request: "500") as judge:
        judged = ["--model", "openai:any", "--base-url", judge.url, "--retries", "1", "--concurrency", "1"]
        status, _, said = call(home, *run, *judged, key="any")
        assert len(judge.requests) == 1, "the second task was not begun"
    assert status == 2
    assert "the model has never answered" in one_line(said)
    assert not (home / "run" / "trials.jsonl").exists() or rows(home / "run") == []
