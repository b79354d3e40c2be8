"""The prompts in a run's folder are those that the model's server got, and the replies those that it gave."""

import html
import json
import shutil

import pytest
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage, convert_to_messages

from langgraph_reflexion import ConfigurationError, create_reflexion
from langgraph_reflexion.lab.experiments import read_prompts
from langgraph_reflexion.lab.experiments.comparison import compare
from langgraph_reflexion.lab.experiments.page import page
from langgraph_reflexion.lab.experiments.prompts import prompt_for
from langgraph_reflexion.lab.experiments.run_files import SENT
from langgraph_reflexion.lab.experiments.runner import resume, run
from langgraph_reflexion.lab.experiments.runs import read_run
from langgraph_reflexion.lab.experiments.trials import trials_of_run
from langgraph_reflexion.lab.run_settings import RunSettings
from langgraph_reflexion.models.calls import CallId, ModelCall
from langgraph_reflexion.models.recorded import whole_calls
from langgraph_reflexion.models.sent import as_json, with_calls
from langgraph_reflexion.state import RECORD_PROMPTS
from langgraph_reflexion.testing import ScriptedChatModel
from tests.support.game import Guessing
from tests.support.guessing import count_up
from tests.support.model_server import ModelRequest, ModelServer

pytestmark = pytest.mark.slow


def as_request(message):
    """Return a recorded message as OpenAI's API has it."""
    made = {"role": message["role"], "content": message["content"]}
    if "tool_call_id" in message:
        made["tool_call_id"] = message["tool_call_id"]
    if "tool_calls" in message:
        made["tool_calls"] = [
            {"type": "function", "id": each["id"], "function": {"name": each["name"], "arguments": each["args"]}}
            for each in message["tool_calls"]
        ]
    return made


def of_request(message):
    """Return a message of a request, its arguments read, and without the difference of no text and none."""
    made = {**message, "content": message.get("content") or ""}
    for call in made.get("tool_calls", []):
        function = call["function"]
        call["function"] = {**function, "arguments": json.loads(function["arguments"])}
    return made


def sorted_json(values):
    return sorted(json.dumps(value, sort_keys=True) for value in values)


def recorded(folder):
    """Return what the record says of messages and tools."""
    return sorted_json(
        [[as_request(message) for message in prompt.messages], prompt.tools] for prompt in read_prompts(folder)
    )


def answered(requests):
    """Return messages and tools of requests."""
    return sorted_json(
        [[of_request(message) for message in request.body["messages"]], request.body.get("tools", [])]
        for request in requests
    )


def play(folder, server, monkeypatch, **settings):
    monkeypatch.setenv("OPENAI_API_KEY", "any")
    given = {"model": "openai:demo", "base_url": server.url, "concurrency": 1, "limit": 2, "max_trials": 2}
    return run(RunSettings.read({**given, **settings}), folder)


def slow(*values):
    return pytest.param(*values, marks=pytest.mark.long)


@pytest.mark.parametrize(
    ("environment", "settings", "kinds"),
    [
        ("fever", {"actor": "tools", "evaluator": "llm", "strategy": "last_attempt_and_reflexion"}, "evaluate"),
        ("hotpotqa", {"profile": "upstream"}, "reflect"),
        ("alfworld", {"memory_map": True, "strategy": "last_attempt_and_reflexion", "max_actions": 6}, "reflect"),
        slow("alfworld", {"actor": "tools", "max_actions": 6}, "reflect"),
        slow("alfworld", {"max_trials": 3, "memory": "summary", "memory_size": 1, "max_actions": 6}, "condense"),
        slow("hotpotqa", {"profile": "preprint", "evaluator": "llm", "limit": 4}, "evaluate"),
        slow("hotpotqa", {"evaluator": "self-consistency:3"}, "evaluate"),
        slow("hotpotqa", {"actor": "cot"}, "act"),
    ],
)
def test_recorded_prompts_are_those_that_the_server_got(tmp_path, monkeypatch, environment, settings, kinds):
    with ModelServer() as server:
        play(tmp_path / "run", server, monkeypatch, environment=environment, **settings)
    assert kinds in {prompt.kind for prompt in read_prompts(tmp_path / "run")}
    assert recorded(tmp_path / "run") == answered(server.requests)


@pytest.mark.needs("sandbox")
def test_self_written_tests_and_their_prompt_are_recorded(tmp_path, monkeypatch):
    problem = {"task_id": "own/area", "prompt": 'def area(side):\n    """The area."""\n', "entry_point": "area"}
    problem |= {"canonical_solution": "    return side * side\n", "test": "def check(f):\n    assert f(3) == 9\n"}
    (tmp_path / "squares.jsonl").write_text(json.dumps(problem) + "\n")

    def reply(messages):
        if messages[-1].text.endswith("Tests:"):
            return "```python\nassert area(2) == 4\n```"
        return "```python\ndef area(side):\n    return side\n```"

    settings = {"environment": "programming", "split": "squares", "options": {"path": f"{tmp_path}/squares.jsonl"}}
    with ModelServer(ScriptedChatModel(replies=reply)) as server:
        play(tmp_path / "run", server, monkeypatch, evaluator="self-tests", **settings)
    first, *others = read_prompts(tmp_path / "run")
    assert (first.kind, first.trial, first.reply["content"]) == ("tests", 1, "```python\nassert area(2) == 4\n```")
    assert [prompt.kind for prompt in others] == ["act", "reflect", "act"]
    assert recorded(tmp_path / "run") == answered(server.requests)


def test_a_shortened_prompt_is_recorded_as_the_model_answered_it(tmp_path, monkeypatch):
    most = 6500

    def fits(request: ModelRequest) -> str | None:
        return "context" if request.characters > most else None

    with ModelServer(faults=fits) as server:
        play(tmp_path / "run", server, monkeypatch, environment="alfworld", max_actions=6, limit=1)
    fitting = [request for request in server.requests if request.characters <= most]
    assert 0 < len(fitting) < len(server.requests)
    assert recorded(tmp_path / "run") == answered(fitting)


def test_a_call_that_is_tried_again_is_recorded_once(tmp_path, monkeypatch):
    with ModelServer(faults=["500", "empty-choices"]) as server:
        play(tmp_path / "run", server, monkeypatch, environment="fever", limit=1, max_trials=1)
    assert [prompt.call for prompt in read_prompts(tmp_path / "run")][:2] == ["act 0", "act 1"]
    assert recorded(tmp_path / "run") == answered(server.requests[2:])


def test_replies_out_of_the_cache_are_recorded_as_any_others(tmp_path, monkeypatch):
    with ModelServer() as server:
        given = {"environment": "fever", "cache": str(tmp_path / "cache.db")}
        play(tmp_path / "one", server, monkeypatch, **given)
        asked = len(server.requests)
        play(tmp_path / "other", server, monkeypatch, **given)
        assert len(server.requests) == asked
    assert (tmp_path / "one" / SENT).read_bytes() == (tmp_path / "other" / SENT).read_bytes()


def test_a_judge_of_a_library_is_recorded():
    pytest.importorskip("openevals")
    verdict = {"name": "score", "args": {"reasoning": "Hm.", "score": True}, "id": "1"}
    model = ScriptedChatModel(replies=[AIMessage("", tool_calls=[verdict])])
    graph = create_reflexion(model, actor=lambda messages: "It is 2.", evaluator="openevals:conciseness").compile()
    final = graph.invoke({"task": "How many?"}, {"configurable": {RECORD_PROMPTS: True}})
    agent, judge = whole_calls(final["sent_prompts"])
    assert (agent.kind, agent.messages[-1]["content"], agent.reply) == ("act", "How many?", None)
    assert [message["content"] for message in judge.messages] == [model.prompts[0][0].text]
    assert (judge.kind, judge.reply["tool_calls"][0]["args"]["score"]) == ("evaluate", True)


def test_a_graph_outside_a_run_keeps_no_prompts():
    final = create_reflexion(ScriptedChatModel(replies=count_up), Guessing()).compile().invoke({"task": "g1"})
    assert (final["status"], "sent_prompts" in final) == ("solved", False)


@pytest.mark.parametrize("takes", ["messages", "text: str"])
def test_prompts_of_your_own_agent(tmp_path, takes):
    (tmp_path / "mine.py").write_text(
        "from langgraph_reflexion.testing import ScriptedChatModel\n"
        f"def agent({takes}): return '41'\n"
        "def verdict(task, result): return False, 'It is not 41.'\n"
        "model = ScriptedChatModel(replies=lambda messages: 'I guessed too low.')\n"
    )
    (tmp_path / "tasks.jsonl").write_text('{"task": "Which number?"}\n')
    named = {"environment": f"{tmp_path}/mine.py:agent", "evaluator": f"{tmp_path}/mine.py:verdict"}
    given = {**named, "options": {"tasks": str(tmp_path / "tasks.jsonl")}, "max_trials": 2}
    run(RunSettings.read({**given, "reflection_model": f"{tmp_path}/mine.py:model"}), tmp_path / "run")
    sent = [message["content"] for message in prompt_for(tmp_path / "run", "1", 2, 1).messages]
    reflection = read_run(tmp_path / "run").trials[0]["reflection"]
    assert len(sent) == 1
    assert sent[0].startswith("Which number?\n\n")
    assert "What the check said of the last attempt: It is not 41." in sent[0]
    assert reflection in sent[0]
    assert "It is not 41." in prompt_for(tmp_path / "run", "1", 1).messages[-1]["content"]


@pytest.fixture(scope="module")
def played(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs") / "run"
    run(RunSettings.read({"environment": "fever", "limit": 1, "max_trials": 2}), folder)
    return folder


def test_prompt_of_a_trial_for_a_reader(played):
    shown = trials_of_run(played, "1")[1].prompt(1, 1)
    assert shown.parts[0][0] == "system"
    assert shown.parts[-1][1] in html.unescape(shown._repr_html_())


@pytest.mark.parametrize(("place", "word"), [((1, 99), "step 99"), ((9, 1), "trial 9"), ((1, "judge"), "evaluator")])
def test_prompt_that_was_not_made(played, place, word):
    with pytest.raises(ConfigurationError, match=word):
        prompt_for(played, read_run(played).info["tasks"][0], *place)


def test_a_run_without_recorded_prompts_is_shown_without_them(tmp_path):
    folder = tmp_path / "run"
    run(RunSettings.read({"environment": "fever", "limit": 1, "max_trials": 2}), folder)
    assert "No prompts are recorded" not in "".join(page(compare([folder])))
    (folder / SENT).unlink()
    with pytest.raises(ConfigurationError, match=r"has no recorded prompts: prompts\.jsonl is missing or empty"):
        list(read_prompts(folder))
    assert "No prompts are recorded" in trials_of_run(folder, "1").caption
    assert "No prompts are recorded" in "".join(page(compare([folder])))


def test_prompts_are_found_where_a_run_that_went_on_has_moved_them(played):
    record, file = read_run(played), played / SENT
    before, lines = list(read_prompts(record)), file.read_bytes()
    try:
        file.write_bytes(b"".join(reversed(lines.splitlines(keepends=True))))
        assert list(read_prompts(record)) == before
    finally:
        file.write_bytes(lines)


def test_run_is_not_resumed_with_other_prompts(played):
    changed = played / "prompts" / "act.md"
    text = changed.read_text()
    changed.write_bytes(b"Do something else.\xff")
    with pytest.raises(ConfigurationError, match=r"other prompts: act\.md"):
        resume(played)
    changed.write_text(text)


def calls_of(*prompts, tools=(), reply="Yes."):
    call = CallId(0, "t", 1, "act 0")
    return [ModelCall(call, prompt, tools, AIMessage(reply)) for prompt in prompts]


def test_a_prompt_adds_what_the_one_before_lacks():
    opening = [SystemMessage("Act."), HumanMessage("A room.")]
    longer = [*opening, AIMessage("look"), HumanMessage("A cup.")]
    transcript = [SystemMessage("Act."), HumanMessage("A long way. " * 50)]
    continued = [SystemMessage("Act."), HumanMessage("A long way. " * 50 + "> go\nA sink.")]
    prompts = [opening, longer, opening, transcript, continued]
    calls = with_calls(with_calls([], calls_of(*prompts[:2]), step=1), calls_of(*prompts[2:]))
    assert [call["same"] for call in calls] == [0, 2, 2, 1, 1]
    assert [[message["content"] for message in call["added"]] for call in calls[1:3]] == [["look", "A cup."], []]
    assert (calls[-1]["same_characters"], calls[-1]["added"][0]["content"]) == (600, "> go\nA sink.")
    whole = list(whole_calls(json.loads(json.dumps(calls))))
    assert [call.messages for call in whole] == [[as_json(message) for message in each] for each in prompts]
    assert [call.step for call in whole] == [1, 1, None, None, None]


def test_tools_are_recorded_where_they_change():
    tool = {"type": "function", "function": {"name": "go", "parameters": {}}}
    asked = [HumanMessage("Go.")]
    calls = with_calls(with_calls([], calls_of(asked, asked, tools=[tool])), calls_of(asked))
    assert [call.get("tools") for call in calls] == [[tool], None, []]
    assert [call.tools for call in whole_calls(calls)] == [[tool], [tool], []]


def test_tool_calls_are_messages_for_langchain_again():
    call = {"name": "go", "args": {"to": "sink"}, "id": "c1", "type": "tool_call"}
    sent = [AIMessage("I go.", tool_calls=[call]), ToolMessage("A sink.", tool_call_id="c1")]
    assert convert_to_messages([as_json(message) for message in sent]) == sent


BEYOND = {"kind": "act", "call": "act 0", "same": 9, "same_characters": 1, "reply": None}
"""Continues a message that the call before does not have."""


@pytest.mark.parametrize(
    "calls",
    ["none", [{"kind": "act"}], [BEYOND | {"added": [{"role": "user", "content": "Go."}]}]],
    ids=["no list", "no prompt", "no message"],
)
def test_a_row_that_is_no_record_of_calls_is_refused(played, tmp_path, calls):
    folder = tmp_path / "run"
    shutil.copytree(played, folder)
    row = {"task_id": read_run(played).trials[0]["task_id"], "trial": 1, "calls": calls}
    (folder / SENT).write_text(json.dumps(row) + "\n")
    with pytest.raises(ConfigurationError, match=r"prompts\.jsonl, trial 1 of .*: mend the line"):
        list(read_prompts(folder))


def test_files_are_recorded_by_size_and_digest_and_long_replies_are_cut():
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64," + "A" * 10_000}}
    prompt = [HumanMessage([{"type": "text", "text": "What is it?"}, image])]
    (call,) = with_calls([], calls_of(prompt, reply="x" * 200_000))
    text, shown = call["added"][0]["content"]
    assert (text["text"], shown["type"], len(shown["sha256"])) == ("What is it?", "image_url", 64)
    assert shown["bytes"] > 10_000
    assert call["reply"]["content"].endswith("x [100000 characters left out]")
    assert len(json.dumps(call)) < 101_000


def test_the_record_grows_as_the_trajectory_does():
    def size(steps):
        prompt, calls = [SystemMessage("Act. " * 100)], []
        for number in range(steps):
            prompt = [*prompt, HumanMessage(f"Observation {number}"), AIMessage(f"Action {number}")]
            calls = with_calls(calls, calls_of(prompt), number + 1)
        return len(json.dumps(calls))

    assert size(400) < 4.3 * size(100)
