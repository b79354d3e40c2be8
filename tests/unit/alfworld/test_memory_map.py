import re
from random import Random

import pytest

from langgraph_reflexion import load_environment
from langgraph_reflexion.envs.base import MAP_CHARACTERS, Action

TASK = {"id": "x", "instruction": "Look around."}
NAME = r"[a-z]+ \d+"
LISTED = re.compile(
    rf"(?P<place>{NAME})(?P<door> \(closed\))?: (?P<things>{NAME}(?:, {NAME})*)(?P<more> \(and .*\))?\."
)


def walk(environment, task, seed, actions=60):
    """Yield an episode and its steps after each action of a random walk, with some invalid actions."""
    episode, random, steps = environment.start(task), Random(seed), []
    yield episode, steps
    for _ in range(actions):
        possible = [c for c in episode._engine.admissible() if c not in ("help", "look", "inventory")]
        likely = [c for c in possible if not c.startswith("go to")]
        command = random.choice(likely if likely and random.random() < 0.7 else possible)
        if random.random() < 0.1:
            command = random.choice(["look", "inventory", "open fridge 1", "go to nowhere 1", "fly away"])
        action = environment.parse(command) or Action(name="", args={}, text=command)
        result = episode.step(action)
        steps.append({"action": action, "observation": result.observation})
        yield episode, steps
        if result.terminated or result.truncated:
            return


def facts(episode):
    """Return the engine's state: the contents of places, the closed places, and what is held."""
    engine = episode._engine
    names, places = engine.world.names, engine.world.places
    inside = {names[place]: {names[thing] for thing in engine._inside(place)} for place in places}
    shut = {names[place] for place in places if not engine._accessible(place)}
    return inside, shut, {names[engine._held]} if engine._held else set()


def check(drawn, episode):
    """Check that the map is true; return the number of things it names."""
    inside, shut, held = facts(episode)
    named = 0
    for line in drawn.lines:
        head, _, rest = line.rstrip(".").partition(": ")
        if listed := LISTED.fullmatch(line):
            place, things = listed["place"], set(re.findall(NAME, listed["things"]))
            assert things <= inside[place] if listed["more"] else things == inside[place], line
            assert bool(listed["door"]) == (place in shut), line
        elif head == "In hand":
            assert set(re.findall(NAME, rest)) == held, line
        elif head == "Empty":
            empty = re.findall(rf"({NAME})( \(closed\))?", rest)
            assert all(not inside.get(place) and bool(closed) == (place in shut) for place, closed in empty), line
        elif head == "Put there by you":
            assert all(thing in inside[place] for thing, place in re.findall(rf"({NAME}) at ({NAME})", rest)), line
        elif head == "Closed and not looked into":
            assert set(re.findall(NAME, rest)) <= shut, line
        elif head == "You stand at":
            assert episode._engine._receptacle_here(rest), line
        else:
            assert head in ("Not looked at yet", "Changed by you"), line
            assert set(re.findall(NAME, rest)) <= inside.keys() or head == "Changed by you"
        named += len(re.findall(NAME, rest))
    return named


@pytest.mark.slow
def test_the_map_is_true_after_every_action_and_in_later_trials():
    environment = load_environment("alfworld", max_steps=1000)
    named = moved = 0
    for number, task in enumerate(environment.tasks(limit=4)):
        known = {}
        for trial in range(2):
            for episode, steps in walk(environment, task, f"0 {number} {trial}"):
                drawn = environment.memory_map(task, episode.observation, steps, known)
                named += check(drawn, episode)
                moved += any(line.startswith("Put there") for line in drawn.lines)
            known = drawn.known
    assert named > 1000
    assert moved > 25


def test_the_wording_of_older_games_is_read():
    seen = [
        "You arrive at loc 12. On the shelf 1, you see a vase 2, and a book 1.",
        "You pick up the vase 2 from the shelf 1.",
        "You arrive at loc 3. The safe 1 is closed.",
        "You open the safe 1. The safe 1 is open. In it, you see nothing.",
        "You put the vase 2 in/on the safe 1.",
    ]
    steps = [{"action": None, "observation": each} for each in seen]
    opening = "You are in the middle of a room. Looking quickly around you, you see a safe 1, a shelf 1, and a bed 1."
    assert load_environment("alfworld").memory_map(TASK, opening, steps, {}).lines == (
        "In hand: nothing.",
        "You stand at: safe 1.",
        "Put there by you: vase 2 at safe 1.",
        "shelf 1: book 1.",
        "safe 1: vase 2.",
        "Not looked at yet: bed 1.",
    )


def test_an_empty_map_has_no_text_and_a_long_one_is_truncated():
    environment = load_environment("alfworld")
    shelves = [f"On the shelf {n}, you see {', '.join(f'a book {n}{m}' for m in range(9))}." for n in range(99)]
    steps = [{"action": None, "observation": shelf} for shelf in shelves]
    empty, long = (environment.memory_map(TASK, "You are in a room.", each, {}).text for each in ([], steps))
    assert (empty, len(long) < MAP_CHARACTERS + 200) == ("", True)
    assert re.search(r"\n\(\d+ more lines are omitted\)$", long)
