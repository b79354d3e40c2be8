"""When a task is finished, and settings that are wrong."""

from langgraph_reflexion import Heuristic, Profile, create_reflexion
from langgraph_reflexion.testing import ScriptedChatModel
from tests.support.toys import Counter, asks_for, count_to, counting_badly


def played(**options):
    model = ScriptedChatModel(replies=counting_badly)
    final = create_reflexion(model, Counter(), **options).compile().invoke({"task": count_to(3)})
    return final, [asks_for(prompt) for prompt in model.prompts]


def test_a_solved_task_ends_at_once():
    final, asked = played()
    assert final["status"] == "solved"
    assert [trial["trial"] for trial in final["trials"]] == [1, 2, 3]
    assert asked.count("reflect") == 2
    assert asked[-1] == "act"


def test_after_the_last_trial_there_is_no_reflection():
    final, asked = played(max_trials=2)
    assert final["status"] == "failed"
    assert len(final["trials"]) == 2
    assert asked.count("reflect") == 1
    assert len(final["reflections"]) == 1


def test_the_profile_says_how_many_trials_unless_told():
    mine = Profile("mine", heuristic=Heuristic(max_cycles=1), max_trials=2, memory_size=1)
    final, _ = played(profile=mine)
    assert (len(final["trials"]), final["status"]) == (2, "failed")
    final, _ = played(profile=mine, max_trials=3, memory=2)
    assert final["status"] == "solved"


def test_while_it_runs_the_status_says_so():
    graph = create_reflexion(ScriptedChatModel(replies=counting_badly), Counter()).compile()
    states = list(graph.stream({"task": count_to(3)}, stream_mode="values"))
    assert [state["status"] for state in states[1:]] == ["running"] * (len(states) - 2) + ["solved"]
