"""Reflections in the actor's prompts, which the original WebShop actor (profile `upstream`) never saw."""

from langgraph_reflexion import create_reflexion, load_environment
from langgraph_reflexion.testing import ScriptedChatModel
from tests.support.toys import asks_for

LESSON = "I bought the first thing that I saw. Next time I will look at the price before I buy."


def buys_in_haste(messages):
    """Search, buy the first product, and reflect on it."""
    if asks_for(messages) == "reflect":
        return LESSON
    seen = messages[-1].text
    if "[Buy Now]" in seen:
        return "Action: click[Buy Now]"
    if "Total results" in seen:
        return f"Action: click[{seen.partition('[Next >] ')[2].strip()[1:11]}]"
    return "Action: search[anything plain]" if len(messages) == 2 else "Action: click[Back to Search]"


def wanders(messages):
    """Search and go back forever, with a new query each time."""
    if "[Back to Search]" in messages[-1].text:
        return "Action: click[Back to Search]"
    return f"Action: search[something number {len(messages)}]"


def prompts_of_trials(**options):
    """Return the first prompt of each trial, and the final state."""
    model = ScriptedChatModel(replies=buys_in_haste)
    environment = load_environment("webshop")
    graph = create_reflexion(model, environment, max_trials=3, **options).compile()
    final = graph.invoke({"task": environment.tasks(limit=1)[0]})
    environment.close()
    asked = [messages for messages in model.prompts if asks_for(messages) == "act"]
    return [messages[1].text for messages in asked if len(messages) == 2], final


def test_the_actor_reads_in_the_next_trial_what_it_wrote_after_this_one():
    (first, second, third), final = prompts_of_trials()
    assert final["status"] == "failed"
    assert LESSON not in first
    assert second.count(LESSON) == 1
    assert third.count(LESSON) == 2
    assert second.endswith(first)


def test_upstream_writes_reflections_that_its_actor_never_reads():
    asked, final = prompts_of_trials(profile="upstream")
    assert [reflection["text"] for reflection in final["reflections"]] == [LESSON, LESSON]
    assert len(asked) == 3
    assert not any(LESSON in text for text in asked)
    assert len(set(asked)) == 1


def test_upstream_allows_fourteen_actions():
    model = ScriptedChatModel(replies=wanders)
    environment = load_environment("webshop")
    (task,) = environment.tasks(limit=1)
    final = create_reflexion(model, environment, profile="upstream", max_trials=1).compile().invoke({"task": task})
    assert (len(final["trajectory"]), final["trials"][0]["stop_reason"]) == (14, "inefficient planning")
    environment.close()
