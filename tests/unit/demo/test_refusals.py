"""What the demo model does not play: it says so, and what to do, instead of a strange answer."""

import pytest
from langchain_core.messages import HumanMessage, SystemMessage

from langgraph_reflexion import ConfigurationError, create_reflexion
from langgraph_reflexion.lab.demo import DemoChatModel
from langgraph_reflexion.prompts import load_prompts
from langgraph_reflexion.testing import ScriptedChatModel
from tests.support.toys import Counter

HELP = (
    r"name another model \(--model\).*needs no key: `ollama pull .*--base-url http://localhost.*docs/howto/models\.md"
)

OPENINGS = {
    "programming": 'def area(side: int) -> int:\n    """The area of a square."""',
    "webshop": "WebShop\nInstruction:\ni need a lamp\n[Search]",
    "workspace": "Make the check pass.\nIt is solved when verification succeeds: `make`.",
    "counter": "The counter stands at 0. Bring it to 3.",
    "nothing": "",
}


@pytest.mark.parametrize("opening", OPENINGS.values(), ids=OPENINGS)
def test_prompts_of_other_worlds_are_refused(opening):
    ends = ("", "\n\nThought: I begin.\nAction: look\nObservation: Nothing.\n\nReflection:")
    for asked in (opening + end for end in ends):
        with pytest.raises(ConfigurationError, match=f"plays households, questions and claims.*{HELP}"):
            DemoChatModel().invoke([SystemMessage("You act."), HumanMessage(asked)])


def test_a_judge_of_other_worlds_is_refused():
    system = load_prompts("webshop").render("judge")
    with pytest.raises(ConfigurationError, match="plays households"):
        DemoChatModel().invoke([SystemMessage(system), HumanMessage(OPENINGS["webshop"])])


def test_a_graph_of_another_world_is_refused_when_it_is_built():
    refused = f"alfworld, hotpotqa and fever, not counter: {HELP}"
    with pytest.raises(ConfigurationError, match=refused):
        create_reflexion("demo", Counter())
    with pytest.raises(ConfigurationError, match=refused):
        create_reflexion(ScriptedChatModel(replies=[]), Counter(), reflection_model="demo")


def test_an_agent_is_not_reflected_on_by_the_demo_model():
    with pytest.raises(ConfigurationError, match="not agents of your own"):
        create_reflexion("demo", actor=lambda messages: "", evaluator=lambda result: True)
    create_reflexion("demo", actor=lambda messages: "", evaluator=lambda result: True, strategy="retry")
