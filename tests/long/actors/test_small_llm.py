"""An instruction-tuned model of half a billion parameters, Qwen2.5-Coder-0.5B, writes programs and answers.

`make .venv-llm/qwen-0.5b` downloads it. It solves little: what counts is that its programs and notes are read, and
that the next trial is told what the check said.
"""

import httpx
import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import before_model
from langchain_openai import ChatOpenAI

from langgraph_reflexion import create_reflexion, load_environment
from langgraph_reflexion.memory.useful import why_useless
from tests.support.small_llm import ROOT, need_qwen, serving

PROGRAMS = f"{ROOT}/docs/experiments/programs.py:VisibleTests"
WORDS = "wanted: an answer in capital letters that ends with an exclamation mark / got: something else"


@pytest.fixture(scope="module")
def address():
    need_qwen()
    with serving("qwen-0.5b") as url:
        yield url


@pytest.fixture
async def model(address):
    settings = {"temperature": 0, "max_tokens": 300, "timeout": 300, "api_key": "none"}
    async with httpx.AsyncClient(timeout=300) as client:
        yield ChatOpenAI(model="any", base_url=address, use_responses_api=False, http_async_client=client, **settings)


async def test_programs_are_read_tested_and_reflected_on(model):
    environment = load_environment(PROGRAMS)
    graph = create_reflexion(model, environment, strategy="last_attempt_and_reflexion", max_trials=2).compile()
    for task in environment.tasks(limit=2):
        final = await graph.ainvoke({"task": task})
        assert final["status"] in ("solved", "failed")
        assert final["task"]["prepared"]["tests"] == environment.described_tests(task)
        [step] = final["trajectory"]
        assert "def " in step["action"]["args"]["code"]
        assert all(trial["score"] is not None for trial in final["trials"])
        for reflection in final["reflections"]:
            seen = f"{task['instruction']} {step['action']['text']}"
            assert why_useless(reflection["text"], [], seen) is None


async def test_an_agent_is_told_what_the_check_said(model):
    told = []

    @before_model
    def listen(state, runtime):
        told.append(state["messages"][-1].text)

    def check(task, result):
        return False, WORDS

    agent = create_agent(model, tools=[], middleware=[listen])
    graph = create_reflexion(model, actor=agent, evaluator=check, max_trials=2).compile()
    final = await graph.ainvoke({"task": "Which animal gives milk and says moo?"})
    assert (final["status"], len(told)) == ("failed", 2)
    assert WORDS not in told[0]
    assert WORDS in told[1]
    kept = [reflection["text"] for reflection in final["reflections"]]
    rejected = [note for note in final["trials"][0]["notes"] if note.startswith("reflection rejected")]
    assert kept or rejected
    assert all(text.splitlines()[0] in told[1] for text in kept)
