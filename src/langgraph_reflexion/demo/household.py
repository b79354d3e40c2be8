"""The demo model in a household (ALFWorld).

It knows the verbs of the game and how to reason with them, and no object, place or task by name: what is where it
reads in the observations, what belongs together in the task and the instruction. Its mistakes have reasons:

* It searches alike places one after the other, in an order of its own habit that it keeps from trial to trial. In a
  large room it runs out of actions.
* When it finds what it looks for among several other things, it is prone to think that it has it when it has only
  seen it. It goes on as if it held the thing, and when nothing happens, tries the same again.

Its self-reflection sees the second from the trajectory, and notes for the first where it has looked; sometimes it
finds nothing better to say than to try harder.
"""

import hashlib
import re
from dataclasses import dataclass, field
from random import Random

from langchain_core.messages import AIMessage

from langgraph_reflexion.demo.transcript import Prompt, Turn

CONFUSION = {4: 0.4, 5: 0.8}
"""How often a thing is thought to be in hand when it is seen among so many: never among fewer, always among more."""
STRAYS = 0.02
"""How often it looks elsewhere than habit says."""
VAGUE = 0.6
"""How often a reflection holds nothing of use."""
NOTED = 12
"""How many searched places it writes down at most, the latest ones."""

_NAME = r"[a-z]+ \d+"
_SMALL_WORDS = """
    a again an and at both bring by chill clean cold cool examine find heat hold hot in in/on into is it it's its
    leave light look of on one onto place put same some the them then this to two turn under up warm wash with you
    your
"""
_STOPWORDS = frozenset(_SMALL_WORDS.split())
_KINDS = (
    ("two", r"\btwo\b"),
    ("look", r"\b(?:look at|examine|light|under)\b"),
    ("clean", r"\b(?:clean|wash|rinse)\b"),
    ("heat", r"\b(?:hot|heat|warm)\b"),
    ("cool", r"\b(?:cool|cold|chill)\b"),
)


@dataclass(frozen=True)
class Goal:
    """The task, read: do something to a thing, and bring it somewhere."""

    kind: str
    thing: str
    target: str
    tool: str
    text: str


@dataclass
class World:
    """What the model makes of the transcript. `held` is what it thinks it holds."""

    places: list[str]
    at: str = ""
    held: str = ""
    contents: dict[str, list[str]] = field(default_factory=dict)
    closed: set[str] = field(default_factory=set)
    treated: set[str] = field(default_factory=set)
    put_down: dict[str, str] = field(default_factory=dict)
    lamp_lit: bool = False
    picked_up: dict[str, str] = field(default_factory=dict)

    def where(self, kind: str) -> list[tuple[str, str]]:
        """The things of a kind that were seen, and where: those that were put down on purpose excluded."""
        return [
            (thing, place)
            for place, things in self.contents.items()
            for thing in things
            if _class(thing) == kind and thing not in self.put_down
        ]


@dataclass
class Notes:
    """What the reflections in the prompt say about the thing that is looked for."""

    found: dict[str, str] = field(default_factory=dict)
    searched: list[str] = field(default_factory=list)
    take_first: bool = False


def answer(prompt: Prompt, *, seed: int, in_text: bool) -> AIMessage:
    """Answer a prompt about a household."""
    goal = read_goal(prompt)
    if prompt.role == "reflect":
        return AIMessage(reflect(prompt, goal, Random(seed)))
    if prompt.role == "judge":
        return AIMessage(judge(prompt, goal))
    thought, name, args = act(prompt, goal, Random(seed))
    if in_text:
        return AIMessage(f"Thought: {thought}\nAction: {_as_text(name, args, prompt.system)}")
    call = {"name": name, "args": args, "id": f"demo_{len(prompt.turns)}", "type": "tool_call"}
    return AIMessage(thought, tool_calls=[call])


def read_goal(prompt: Prompt) -> Goal:
    """Read the task from the opening, and from the instruction what tool it needs."""
    text = prompt.opening.rpartition("Your task is to:")[2].strip().lower()
    words = re.findall(r"[a-z/']+", text)
    classes = {_class(place) for place in _places(prompt.opening)}
    kind = next((name for name, pattern in _KINDS if re.search(pattern, text)), "pick")
    nouns = [word for word in words if word not in _STOPWORDS]
    thing = next(iter(nouns), "")
    targets = [word for word in nouns[1:] if word in classes]
    target = nouns[-1] if kind == "look" and nouns else (targets[-1] if targets else "")
    tool = re.search(rf"\bto {kind} (?:something|it), (?:take it )?to the (\w+)", prompt.system, re.IGNORECASE)
    return Goal(kind, thing, target, tool[1].lower() if tool else "", text)


def act(prompt: Prompt, goal: Goal, rng: Random) -> tuple[str, str, dict[str, str]]:
    """The next thought and action: tool name and arguments."""
    world = read_world(prompt)
    notes = read_notes(prompt.lessons, goal)
    if world.held and _class(world.held) == goal.thing:
        return _bring(world, goal)
    known = _reachable(world, goal, notes)
    if known is None:
        return _search(world, goal, notes, rng, goal.thing)
    thing, place = known
    if world.at != place:
        return f"There is {thing} at {place}. I go there.", "go_to", {"receptacle": place}
    if place in world.closed:
        return f"{place} is closed. I open it.", "open", {"receptacle": place}
    crowd = len(world.contents.get(place, ()))
    if not notes.take_first and rng.random() < CONFUSION.get(crowd, float(crowd > max(CONFUSION))):
        world.held = thing
        thought, name, args = _bring(world, goal)
        return f"I have {thing} now. {thought}", name, args
    return f"I see {thing} here. I take it.", "take", {"object": thing, "receptacle": place}


def _reachable(world: World, goal: Goal, notes: Notes) -> tuple[str, str] | None:
    """A thing of the right kind that was seen, or that the notes speak of and that has not proved wrong."""
    for thing, place in world.where(goal.thing):
        return thing, place
    for thing, place in notes.found.items():
        if place in world.places and place not in world.contents and thing not in world.put_down:
            return thing, place
    return None


def _bring(world: World, goal: Goal) -> tuple[str, str, dict[str, str]]:
    """What to do with the thing that is held, as it seems."""
    held = world.held
    if goal.kind == "look":
        lamps = world.where(goal.target)
        if not lamps:
            return _search(world, goal, Notes(), None, goal.target)
        lamp, place = lamps[0]
        if world.at != place:
            return f"The {lamp} is at {place}. I take {held} there.", "go_to", {"receptacle": place}
        return f"I hold {held} and stand at the {lamp}. I use it.", "use", {"object": lamp}
    if goal.tool and held not in world.treated:
        tool = next((place for place in world.places if _class(place) == goal.tool), goal.tool)
        if world.at != tool:
            return f"I take {held} to {tool}.", "go_to", {"receptacle": tool}
        return f"I {goal.kind} {held} here.", goal.kind, {"object": held, "receptacle": tool}
    target = next(iter(world.put_down.values()), None) or next(
        (place for place in world.places if _class(place) == goal.target), goal.target
    )
    if world.at != target:
        return f"I bring {held} to {target}.", "go_to", {"receptacle": target}
    if target in world.closed:
        return f"{target} is closed. I open it.", "open", {"receptacle": target}
    return f"I leave {held} at {target}.", "put", {"object": held, "receptacle": target}


def _search(
    world: World, goal: Goal, notes: Notes, rng: Random | None, wanted: str
) -> tuple[str, str, dict[str, str]]:
    """Look where it has not looked yet: at alike places in turn, in the order of habit."""
    if world.at in world.closed:
        return f"{world.at} is closed. I open it.", "open", {"receptacle": world.at}
    unseen = [place for place in world.places if place not in world.contents]
    fresh = [place for place in unseen if place not in notes.searched] or unseen
    if not fresh:
        return f"I have looked everywhere and seen no {wanted}.", "look", {}
    fresh.sort(key=lambda place: (_habit(goal.text, _class(place)), _habit(goal.text, place)))
    place = rng.choice(fresh) if rng and rng.random() < STRAYS else fresh[0]
    return f"I have not seen a {wanted} yet. I look at {place}.", "go_to", {"receptacle": place}


def read_world(prompt: Prompt) -> World:
    """Read the transcript: what the observations say, and what its own thoughts claim."""
    world = World(_places(prompt.opening))
    for turn in prompt.turns:
        _read_turn(world, turn)
    return world


def _read_turn(world: World, turn: Turn) -> None:
    seen = turn.observation
    if seen == "Nothing happens.":
        if turn.action.startswith(("go to ", "go_to ")) and turn.action[6:] in world.places:
            # Places that share a spot cannot be gone to from each other; one stands there already.
            world.at = turn.action[6:]
            world.contents.setdefault(world.at, [])
    elif seen.startswith("You arrive at"):
        world.at = turn.action[6:]
    if claimed := re.search(rf"\bI have ({_NAME}) now\b", turn.thought):
        world.held = claimed[1]
    if taken := re.match(rf"You pick up the ({_NAME}) from the ({_NAME})", seen):
        world.held = taken[1]
        world.picked_up.setdefault(taken[1], taken[2])
        _remove(world, taken[1])
    elif put := re.match(rf"You (?:move|put) the ({_NAME}) (?:to|in/on) the ({_NAME})", seen):
        world.held = ""
        world.put_down[put[1]] = put[2]
    elif treated := re.match(rf"You (?:clean|heat|cool) the ({_NAME}) using", seen):
        world.treated.add(treated[1])
    elif seen.startswith("You turn on the"):
        world.lamp_lit = True
    for place in re.findall(rf"\b[Tt]he ({_NAME}) is closed", seen):
        world.closed.add(place)
    for place in re.findall(rf"\b[Tt]he ({_NAME}) is open", seen):
        world.closed.discard(place)
    for where, open_place, things in re.findall(
        rf"(?:On the ({_NAME})|[Tt]he ({_NAME}) is open\. In it), you see ([^.]*)\.", seen
    ):
        world.contents[where or open_place] = re.findall(_NAME, things)


def _remove(world: World, thing: str) -> None:
    for things in world.contents.values():
        if thing in things:
            things.remove(thing)


def read_notes(lessons: tuple[str, ...], goal: Goal) -> Notes:
    """What the reflections say about the thing that is looked for; the rest is of no use here."""
    notes = Notes()
    for sentence in re.split(r"(?<=[.;])\s+", " ".join(lessons)):
        text = sentence.lower()
        if goal.thing not in re.findall(r"[a-z]+", text):
            continue
        if re.search(r"\bno\b", text):
            places = [name for name in re.findall(_NAME, text) if _class(name) != goal.thing]
            notes.searched += [place for place in places if place not in notes.searched]
        elif located := re.search(rf"\b({goal.thing} \d+)\b.*?\b(?:in|on|at|from) ({_NAME})", text):
            notes.found[located[1]] = located[2]
        if "take" in text:
            notes.take_first = True
    return notes


def reflect(prompt: Prompt, goal: Goal, rng: Random) -> str:
    """Find the action that was to blame, and note what is worth knowing next time."""
    world = read_world(prompt)
    earlier = read_notes(prompt.lessons, goal)
    last = prompt.turns[-1] if prompt.turns else Turn("", "", "")
    if rng.random() < VAGUE:
        return (
            f"My last action, {last.action or 'none'}, did not get me to the goal. "
            "I lost sight of my plan. Next time I will think more carefully before each step."
        )
    taken = {thing: place for thing, place in world.picked_up.items() if _class(thing) == goal.thing}
    found = {**earlier.found, **dict(world.where(goal.thing)), **taken}
    parts = []
    mistaken = world.held if world.held not in world.picked_up else ""
    if mistaken:
        place = found.get(mistaken, "its place")
        parts.append(
            f"{last.action} could not work: I went on as if I held the thing, but I had only seen it. "
            f"Next time I will take {mistaken} from {place} before I do anything else with it."
        )
    elif found:
        parts.append("I found what I was looking for too late, and ran out of actions before I was done.")
    else:
        parts.append(f"I used up my actions on searching; {last.action} was as wrong a place as the others.")
    for thing, place in found.items():
        if thing != mistaken:
            parts.append(f"I know that {thing} was at {place}, so I will go there and take it at once.")
    empty = [place for place, things in world.contents.items() if goal.thing not in map(_class, things)]
    searched = [*(place for place in earlier.searched if place not in empty), *empty][-NOTED:]
    if searched and len(found) < (2 if goal.kind == "two" else 1):
        parts.append(
            f"There is no {goal.thing} at {', '.join(searched)}. Next time I will look in the other places first."
        )
    return " ".join(parts)


def judge(prompt: Prompt, goal: Goal) -> str:
    """Say whether the observations show the task done."""
    world = read_world(prompt)
    done = [
        (thing, place)
        for thing, place in world.put_down.items()
        if _class(thing) == goal.thing and _class(place) == goal.target and (not goal.tool or thing in world.treated)
    ]
    if goal.kind == "look":
        solved = world.lamp_lit and _class(world.held) == goal.thing and world.held in world.picked_up
        reason = f"The lamp was used while holding {world.held or 'nothing'}."
    else:
        needed = 2 if goal.kind == "two" else 1
        solved = len(done) >= needed and len({place for _, place in done}) == 1
        reason = f"Of {needed} needed, {len(done)} came to where the task wants it, in the state it wants."
    return f"{reason}\nVerdict: {'yes' if solved else 'no'}"


def _as_text(name: str, args: dict[str, str], system: str) -> str:
    if name == "put" and "put {object} in/on {receptacle}" in system:
        return f"put {args['object']} in/on {args['receptacle']}"
    forms = {
        "go_to": "go to {receptacle}",
        "open": "open {receptacle}",
        "take": "take {object} from {receptacle}",
        "put": "move {object} to {receptacle}",
        "clean": "clean {object} with {receptacle}",
        "heat": "heat {object} with {receptacle}",
        "cool": "cool {object} with {receptacle}",
        "use": "use {object}",
    }
    return forms.get(name, name).format(**args)


def _places(opening: str) -> list[str]:
    listed = re.search(r"you see ([^.]*)\.", opening)
    return re.findall(_NAME, listed[1]) if listed else []


def _class(name: str) -> str:
    return name.rpartition(" ")[0]


def _habit(task: str, name: str) -> int:
    """Where a place stands in the order that this task makes the model think of: the same in every trial."""
    return int.from_bytes(hashlib.blake2b(f"{task}\n{name}".encode(), digest_size=6).digest(), "big")
