"""tau2-bench's mock domain, with an agent and a user that are rules, not language models."""

import json
from importlib.util import find_spec

import pytest

from langgraph_reflexion.adapters.tau2 import Tau2Environment
from langgraph_reflexion.errors import EnvironmentUnavailable
from langgraph_reflexion.testing import ScriptedChatModel
from tests.support.cli import call, start
from tests.support.model_server import ModelServer

with_tau2 = pytest.mark.skipif(not find_spec("tau2"), reason="tau2-bench is not installed: pip install '.[tau2]'")

TAU2 = "langgraph_reflexion.adapters.tau2:Tau2Environment"

EXPERIMENT = """
[common]
base_url = "{url}"
max_trials = 2
[matrix]
strategies = ["retry", "reflexion"]
models = ["openai:rules"]
[environments.mock]
environment = "{environment}"
options = {{ domain = "mock", user_model = "openai/rules" }}
limit = 4
"""

LESSON = "I wrote the title in lower case. Next time I copy it exactly."


def user(messages):
    """Ask for what the scenario says, and end the conversation once it is done."""
    if messages[-1].text == "Done.":
        return "Thank you. ###STOP###"
    if "task_1" in messages[0].text:
        return "Please mark task_1 as completed."
    return "Please create the task 'Important Meeting' for user_1."


def agent(messages):
    """Write titles in lower case, unless a reflection warns against it."""
    asked = messages[1].text
    if asked.endswith("Reflection:"):
        return LESSON
    if '"status":' in messages[-1].text:
        return "Action: respond[Done.]"
    if "mark task_1" in asked:
        return "Action: update_task_status[task_1, completed]"
    return f"Action: create_task[user_1, {'Important Meeting' if LESSON in asked else 'important meeting'}]"


class Office:
    """The servers of the agent's model and the user's, and commands in processes of their own."""

    def __init__(self, home):
        self.home = home
        self.user_fault = lambda request: None
        self.agent = ModelServer(ScriptedChatModel(replies=agent))
        self.user = ModelServer(ScriptedChatModel(replies=user), faults=lambda request: self.user_fault(request))

    def run(self, status, *args):
        # LiteLLM would load its list of prices from the network.
        known = {"OPENAI_API_BASE": self.user.url, "LITELLM_LOCAL_MODEL_COST_MAP": "True", "LOGURU_LEVEL": "CRITICAL"}
        process = start(self.home, *args, key="any", environment=known)
        said = "".join(process.communicate(timeout=240))
        assert process.returncode == status, said

    def rows(self, folder):
        return [json.loads(line) for line in (self.home / folder / "trials.jsonl").read_text().splitlines()]


def last_message(request):
    return str(request.body["messages"][-1]["content"])


@pytest.fixture
def office(tmp_path):
    made = Office(tmp_path)
    with made.agent, made.user:
        yield made


@with_tau2
def test_reflexion_solves_what_retry_does_not(office):
    (office.home / "mock.toml").write_text(EXPERIMENT.format(url=office.agent.url, environment=TAU2))
    office.run(0, "experiment", "mock.toml")
    folders = [f"runs/mock/mock-{strategy}-openai-rules-s0" for strategy in ("retry", "reflexion")]
    retry, reflexion = (
        {(row["task_id"], row["trial"]) for row in office.rows(each) if row["success"]} for each in folders
    )
    assert reflexion - retry == {("create_task_1", 2), ("create_task_1_with_env_assertions", 2)}
    (shown, *_) = (text for text in map(last_message, office.agent.requests) if text.endswith("Reflection:"))
    assert "Wrong: the data after the conversation." in shown
    assert call(office.home, "report", *folders, "--html", "page.html")[0] == 0
    assert "Tau2Environment" in (office.home / "page.html").read_text()


@with_tau2
def test_failing_user_is_a_fault(office):
    office.user_fault = lambda request: "500" if len(request.body["messages"]) > 2 else None
    options = ["--option", "domain=mock", "--option", "user_model=openai/rules", "--limit", "1", "--max-trials", "1"]
    office.run(1, "run", TAU2, *options, "--model", "openai:rules", "--base-url", office.agent.url, "--out", "run")
    (row,) = office.rows("run")
    assert (row["success"], row["stop_reason"]) == (None, "fault")
    assert "The server failed" in row["fault"]


@pytest.mark.skipif(bool(find_spec("tau2")), reason="tau2-bench is installed")
def test_error_without_tau2_names_the_extra():
    with pytest.raises(EnvironmentUnavailable, match="extra tau2"):
        Tau2Environment("mock", user_model="any")
