"""Few-shot examples: as chat turns like a trial's own, or within the instruction."""

from dataclasses import replace
from itertools import pairwise

import pytest
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage

from langgraph_reflexion import create_reflexion, load_environment, load_prompts
from langgraph_reflexion.actors import ACTORS
from langgraph_reflexion.profiles import PROFILES
from langgraph_reflexion.testing import ScriptedChatModel
from tests.support.toys import asks_for

SHIPPED = [("alfworld", "react"), ("alfworld", "tools"), ("hotpotqa", "react"), ("hotpotqa", "cot-gt")]
SHIPPED += [("programming", "react"), ("programming", "code")]
SHIPPED += [pytest.param("webshop", "react", marks=pytest.mark.extra("webshop"))]
SHIPPED += [pytest.param("workspace", actor, marks=pytest.mark.long) for actor in ACTORS]


def prompts_of(name, actor, layout):
    """Return the first prompts of the actor and of the self-reflection that show examples."""
    environment = load_environment(name)

    def reply(messages):
        return "I failed." if asks_for(messages) == "reflect" else "Action: nothing"

    model = ScriptedChatModel(replies=reply)
    profile = replace(PROFILES["paper"], layout=layout)
    options = {"actor": actor, "max_trials": 2, "profile": profile}
    graph = create_reflexion(model, environment, **options).compile()
    graph.invoke({"task": environment.tasks()[0]})
    prompts = [messages for messages in model.prompts if not messages[-1].text.endswith("Tests:")]
    asked = {role: [messages for messages in prompts if asks_for(messages) == role] for role in ("act", "reflect")}
    environment = environment.variant(actor) if actor in environment.variants else environment
    # A first program is asked for without an example.
    return environment, asked["act"][-1 if actor == "code" else 0], asked["reflect"][0]


@pytest.mark.parametrize(("name", "actor"), SHIPPED, ids=lambda each: each)
def test_examples_are_turns_whose_roles_alternate(name, actor):
    environment, acting, reflecting = prompts_of(name, actor, "turns")
    assert [type(message) for message in acting[:2]] == [SystemMessage, HumanMessage]
    if actor == "tools":  # thinking models refuse calls without their thoughts
        assert len(acting) == 2
        assert "--- Example 1 ---" in acting[0].text
    else:
        assert acting[2:], "there are examples"
    answered = {AIMessage: HumanMessage, HumanMessage: AIMessage}
    for message, following in pairwise(acting[1:]):
        assert isinstance(following, answered[type(message)])
    if actor != "code":
        written = [message.text.partition("Action: ")[2] for message in acting if isinstance(message, AIMessage)]
        assert all(environment.parse(each) for each in written)
    examples = load_prompts(environment.prompts_from).reflections
    assert [m.text for m in reflecting if isinstance(m, AIMessage)] == [each.reflection for each in examples]
    assert all(m.text.endswith("\n\nReflection:") for m in reflecting if isinstance(m, HumanMessage))


def test_the_layout_text_has_the_examples_in_the_instruction():
    _, acting, reflecting = prompts_of("alfworld", "react", "text")
    assert [type(message) for message in acting] == [type(message) for message in reflecting]
    assert [type(message) for message in acting] == [SystemMessage, HumanMessage]
    assert acting[0].text.count("--- Example ") == reflecting[0].text.count("--- Example ") == 2


def test_an_action_without_a_name_reads_none_in_the_history():
    model = ScriptedChatModel(replies=lambda messages: "Observation: It shines.")
    environment = load_environment("alfworld")
    graph = create_reflexion(model, environment, max_trials=1).compile()
    graph.invoke({"task": environment.tasks()[0]})
    assert model.prompts[1][-2].text == "Action: (none)"
