"""What is certain about a failed household task."""

import pytest

from langgraph_reflexion.envs.alfworld.facts import facts_of

SEEN = "You arrive at shelf 1. On the shelf 1, you see a mug 1, and a pen 2."
TAKEN = "You pick up the mug 1 from the shelf 1."


def steps(*observations):
    return [{"action": None, "observation": each} for each in observations]


@pytest.mark.parametrize(
    "goal",
    [
        "put a hot mug in the cabinet.",
        "put two mugs in the cabinet.",
        "find two mug and put them in sofa.",
        "look at mug under the desklamp.",
        "heat some mug and put it in fridge.",
    ],
)
def test_the_thing_of_a_goal_was_not_seen_or_seen_and_not_taken_or_taken(goal):
    [unseen] = facts_of(goal, steps("You arrive at shelf 2. On the shelf 2, you see nothing."))
    assert unseen == "No observation named any mug, which the goal needs."
    [untaken] = facts_of(goal, steps(SEEN))
    assert untaken == "At least one mug was seen, but none was picked up."
    assert facts_of(goal, steps(SEEN, TAKEN)) == []


def test_a_goal_without_a_thing_and_a_longer_name_say_nothing_of_it():
    assert facts_of("tidy up.", steps(SEEN)) == []
    [unseen] = facts_of("put a mug in the cabinet.", steps("On the shelf 1, you see a mugholder 1."))
    assert unseen.startswith("No observation named any mug,")
