"""The demo model in ALFWorld.

It knows the verbs of the game, and no object, place or task by name: it reads what is where in the observations. Its
mistakes have reasons:

* It searches similar places one after the other, in a habitual order that stays the same from trial to trial. In a
  large room it runs out of actions.
* When it finds a thing among several others, it tends to think that it has taken the thing when it has only seen it.
  It carries on as if it held it, and when nothing happens, tries the same again.

Its reflections see the second mistake in the trajectory, and list for the first the places that it has searched.
Sometimes they say nothing of use. A room is recognized by its furniture, as the opening lists it.
"""

from collections.abc import Container, Mapping
from random import Random

from langgraph_reflexion.lab.demo.alfworld.task import Goal, Notes, read_goal, read_notes
from langgraph_reflexion.lab.demo.alfworld.world import (
    Household,
    class_of,
    read_rooms,
    read_world,
    seen_at_first,
    tell_room,
)
from langgraph_reflexion.lab.demo.persona import Act, habit
from langgraph_reflexion.lab.demo.prompt import ParsedPrompt

CONFUSION = {4: 0.4, 5: 0.8}
"""Probability of taking a seen thing for a held one, by the number of things around it: 0 below, 1 above."""
STRAYS = 0.02
"""Probability of looking elsewhere than habit says."""
VAGUE = 0.6
"""Probability of a useless reflection."""
NOTED = 12
"""Number of searched places in a reflection."""

Move = tuple[str, str, dict[str, str]]
"""A thought, and the action with its arguments."""


def recognises(prompt: ParsedPrompt) -> bool:
    """Return whether a prompt is about a household task."""
    return "Your task is to:" in prompt.opening


def act(prompt: ParsedPrompt, rng: Random) -> Act:
    """Return the next action."""
    goal = read_goal(prompt)
    thought, name, args = _step(prompt, goal, rng)
    return Act(thought, name, args, _as_text(name, args, prompt.system))


def _step(prompt: ParsedPrompt, goal: Goal, rng: Random) -> Move:
    world = read_world(prompt)
    notes = read_notes(prompt.reflections, goal)
    recalled = read_rooms(prompt.recalled, world.places)
    if world.held and class_of(world.held) == goal.thing:
        return _bring(world, goal, recalled)
    known = _reachable(world, goal, notes)
    if known is None:
        return _search(world, goal, notes, rng, goal.thing, recalled)
    thing, place = known
    reaching = _reach(world, place, f"There is {thing} at {place}. I go there.")
    if reaching:
        return reaching
    # Whoever comes for a thing takes it; one that turns up among others may only be seen.
    came_for_it = notes.take_first or goal.thing in recalled.get(place, ())
    crowd = len(world.contents.get(place, ()))
    if not came_for_it and rng.random() < _confusion(crowd):
        world.held = thing
        thought, name, args = _bring(world, goal, recalled)
        return f"I have {thing} now. {thought}", name, args
    return f"I see {thing} here. I take it.", "take", {"object": thing, "receptacle": place}


def _confusion(crowd: int) -> float:
    """Return the probability of taking a seen thing for a held one among a number of things."""
    if crowd in CONFUSION:
        return CONFUSION[crowd]
    if crowd > max(CONFUSION):
        return 1.0
    return 0.0


def _reach(world: Household, place: str, thought: str) -> Move | None:
    """Return the step that is needed before things at a place can be used; None if there is none."""
    if world.at != place:
        return thought, "go_to", {"receptacle": place}
    if place in world.closed:
        return f"{place} is closed. I open it.", "open", {"receptacle": place}
    return None


def _reachable(world: Household, goal: Goal, notes: Notes) -> tuple[str, str] | None:
    """Return a thing of the right class that was seen, or that notes mention and no observation refutes."""
    for thing, place in world.where(goal.thing):
        return thing, place
    for thing, place in notes.found.items():
        unseen = place in world.places and place not in world.contents
        if unseen and thing not in world.put_down:
            return thing, place
    return None


def _bring(world: Household, goal: Goal, recalled: Mapping[str, set[str]]) -> Move:
    """Return the next step with the thing in hand: to the lamp, to the tool, or to where it belongs."""
    held = world.held
    if goal.kind == "look":
        return _look_at_it(world, goal, recalled)
    if goal.tool and held not in world.treated:
        tool = _place_of_class(world, goal.tool)
        if world.at != tool:
            return f"I take {held} to {tool}.", "go_to", {"receptacle": tool}
        return f"I {goal.kind} {held} here.", goal.kind, {"object": held, "receptacle": tool}
    target = _place_of_class(world, goal.target)
    if world.put_down:
        # Of two things the second belongs to the first.
        places = list(world.put_down.values())
        target = places[0]
    reaching = _reach(world, target, f"I bring {held} to {target}.")
    if reaching:
        return reaching
    return f"I leave {held} at {target}.", "put", {"object": held, "receptacle": target}


def _look_at_it(world: Household, goal: Goal, recalled: Mapping[str, set[str]]) -> Move:
    """Return the next step to look at the thing in hand under the lamp."""
    lamps = world.where(goal.target)
    if not lamps:
        return _search(world, goal, Notes(), None, goal.target, recalled)
    lamp, place = lamps[0]
    if world.at != place:
        return f"The {lamp} is at {place}. I take {world.held} there.", "go_to", {"receptacle": place}
    return f"I hold {world.held} and stand at the {lamp}. I use it.", "use", {"object": lamp}


def _place_of_class(world: Household, wanted: str) -> str:
    """Return the first place of a class; its class if none is known."""
    for place in world.places:
        if class_of(place) == wanted:
            return place
    return wanted


def _search(
    world: Household, goal: Goal, notes: Notes, rng: Random | None, wanted: str, recalled: Mapping[str, set[str]]
) -> Move:
    """Look at a place not yet seen: one that a note names, or else the next one by habit.

    Places where notes report other things come last.
    """
    if world.at in world.closed:
        return f"{world.at} is closed. I open it.", "open", {"receptacle": world.at}
    unseen = [place for place in world.places if place not in world.contents]
    for place in unseen:
        if wanted in recalled.get(place, ()):
            thought = f"A note says that there was {_some(wanted)} at {place}. I go there to take it."
            return thought, "go_to", {"receptacle": place}
    if not unseen:
        return f"I have looked everywhere and seen no {wanted}.", "look", {}
    fresh = _all_but(unseen, notes.searched)
    fresh = _all_but(fresh, recalled)
    # Places of a class are similar, and searched one after the other.
    fresh.sort(key=lambda place: (habit(goal.text, class_of(place)), habit(goal.text, place)))
    place = fresh[0]
    if rng and rng.random() < STRAYS:
        place = rng.choice(fresh)
    return f"I have not seen {_some(wanted)} yet. I look at {place}.", "go_to", {"receptacle": place}


def _all_but(places: list[str], known: Container[str]) -> list[str]:
    """Return the places that are not known; all if every one is."""
    rest = [place for place in places if place not in known]
    return rest or places


def _some(noun: str) -> str:
    """Return a noun with its article: "an egg", "a mug"."""
    if noun.startswith(("a", "e", "i", "o", "u")):
        return f"an {noun}"
    return f"a {noun}"


def reflect(prompt: ParsedPrompt, rng: Random) -> str:
    """Name the action to blame, and what to know next time."""
    goal = read_goal(prompt)
    world = read_world(prompt)
    earlier = read_notes(prompt.reflections, goal)
    last_action = ""
    if prompt.turns:
        last_action = prompt.turns[-1].action
    if rng.random() < VAGUE:
        return (
            f"My last action, {last_action or 'none'}, did not get me to the goal. "
            "I lost sight of my plan. Next time I will think more carefully before each step."
        )
    found = _found(world, goal, earlier)
    mistaken = ""
    if world.held not in world.picked_up:
        mistaken = world.held
    parts = [_blame(last_action, mistaken, found)]
    for thing, place in found.items():
        if thing != mistaken:
            parts.append(f"I know that {thing} was at {place}, so I will go there and take it at once.")
    searched = _searched_in_vain(world, goal, earlier)
    needed = _number_of_things(goal)
    if searched and len(found) < needed:
        places = ", ".join(searched)
        parts.append(f"There is no {goal.thing} at {places}. Next time I will look in the other places first.")
    room = tell_room(world.places, seen_at_first(world))
    if room:
        parts.append(room)
    return " ".join(parts)


def _found(world: Household, goal: Goal, earlier: Notes) -> dict[str, str]:
    """Return the places of the things to find, by thing."""
    found = dict(earlier.found)
    # What was seen counts more than what notes say, and what was taken more than that.
    found.update(world.where(goal.thing))
    taken = {thing: place for thing, place in world.picked_up.items() if class_of(thing) == goal.thing}
    found.update(taken)
    return found


def _blame(last_action: str, mistaken: str, found: Mapping[str, str]) -> str:
    """Say what went wrong: a thing that was only believed to be held, or too long a search."""
    if mistaken:
        place = found.get(mistaken, "its place")
        return (
            f"{last_action} could not work: I went on as if I held the thing, but I had only seen it. "
            f"Next time I will take {mistaken} from {place} before I do anything else with it."
        )
    if found:
        return "I found what I was looking for too late, and ran out of actions before I was done."
    return f"I used up my actions on searching; {last_action} was as wrong a place as the others."


def _searched_in_vain(world: Household, goal: Goal, earlier: Notes) -> list[str]:
    """Return the last places that have been searched without finding the thing, in this trial or before."""
    empty = []
    for place, things in world.contents.items():
        classes = [class_of(thing) for thing in things]
        if goal.thing not in classes:
            empty.append(place)
    before = [place for place in earlier.searched if place not in empty]
    return (before + empty)[-NOTED:]


def _number_of_things(goal: Goal) -> int:
    """Return how many things a task wants to be brought."""
    if goal.kind == "two":
        return 2
    return 1


def learn(prompt: ParsedPrompt) -> str:
    """Say what worked, and what this trial and the notes saw of the room."""
    goal = read_goal(prompt)
    world = read_world(prompt)
    places = [place for thing, place in world.picked_up.items() if class_of(thing) == goal.thing]
    where = " and ".join(dict.fromkeys(places)) or "its place"
    noted = read_rooms(prompt.reflections, world.places)
    known = {place: sorted(things) for place, things in noted.items()}
    # What it saw itself counts more than what notes say.
    known.update(seen_at_first(world))
    return f"I found the {goal.thing} at {where}, and that was it. {tell_room(world.places, known)}"


def judge(prompt: ParsedPrompt) -> str:
    """Say whether the observations show the task done."""
    goal = read_goal(prompt)
    world = read_world(prompt)
    if goal.kind == "look":
        holds_it = class_of(world.held) == goal.thing and world.held in world.picked_up
        solved = world.lamp_lit and holds_it
        reason = f"The lamp was used while holding {world.held or 'nothing'}."
    else:
        needed = _number_of_things(goal)
        places = _places_of_brought(world, goal)
        solved = len(places) >= needed and len(set(places)) == 1
        reason = f"Of {needed} needed, {len(places)} came to where the task wants it, in the state it wants."
    verdict = "no"
    if solved:
        verdict = "yes"
    return f"{reason}\nVerdict: {verdict}"


def _places_of_brought(world: Household, goal: Goal) -> list[str]:
    """Return the place of each thing that was brought where the task wants it, in the state it wants."""
    places = []
    for thing, place in world.put_down.items():
        belongs = class_of(thing) == goal.thing and class_of(place) == goal.target
        treated = not goal.tool or thing in world.treated
        if belongs and treated:
            places.append(place)
    return places


def _as_text(name: str, args: dict[str, str], system: str) -> str:
    """Return an action as text, as the instruction writes it."""
    thing = args.get("object", "")
    place = args.get("receptacle", "")
    match name:
        case "go_to":
            return f"go to {place}"
        case "take":
            return f"take {thing} from {place}"
        case "put":
            if "put {object} in/on {receptacle}" in system:
                return f"put {thing} in/on {place}"
            return f"move {thing} to {place}"
        case "clean" | "heat" | "cool":
            return f"{name} {thing} with {place}"
    return f"{name} {thing or place}".strip()
