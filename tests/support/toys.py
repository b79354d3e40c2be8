"""Small environments to test with: one that is rebuilt by replay, and one with snapshots."""

import time
from typing import Annotated, Literal, cast

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage

from langgraph_reflexion import ModelOptions, create_reflexion
from langgraph_reflexion.envs.base import Action, Environment, Episode, FinishedTrial, StepResult, Task, action
from langgraph_reflexion.support.retries import Retries
from langgraph_reflexion.testing import ScriptedChatModel
from tests.support.scripts.programming import REFLECTION

THREAD = {"configurable": {"thread_id": "1"}}

AT_ONCE = ModelOptions(retries=Retries(attempts=2, first_wait=0))
"""Trouble outside is tried again without a wait, for tests of what comes of it."""


class CounterEpisode(Episode):
    """Bring the counter from 0 to the goal."""

    def __init__(self, goal: int, limit: int) -> None:
        self.observation = f"The counter stands at 0. Bring it to {goal}."
        self.goal, self.left, self.count, self.closed = goal, limit, 0, 0

    @action("add {amount}", "plus {amount}")
    def add(self, amount: Annotated[int, "how much to add"], times: Annotated[int, "how often"] = 1) -> StepResult:
        """Add to the counter."""
        return self._now(self.count + amount * times)

    @action("go {direction}")
    def turn(self, direction: Annotated[Literal["up", "down"], "which way"]) -> StepResult:
        """Go one step up or down."""
        return self._now(self.count + (1 if direction == "up" else -1))

    @action()
    def read(self) -> str:
        """Read the counter.

        This second paragraph is not for models.
        """
        return f"{self.count}"

    @action("fail", name="break")
    def fail(self) -> StepResult:
        """Make the environment itself fail."""
        raise OSError("the counter fell off the wall")

    def _now(self, count):
        if self.left <= 0 or self.count == self.goal:
            return StepResult("It is over.", terminated=self.count == self.goal, truncated=self.left <= 0)
        self.count, self.left = count, self.left - 1
        done = self.count == self.goal
        return StepResult(f"The counter stands at {self.count}.", float(done), done, self.left <= 0 and not done)

    def close(self):
        self.closed += 1


class Counter(Environment):
    """Counters with ever larger goals. Keeps the episodes that it started, for tests to look at."""

    name = "counter"
    splits = ("easy", "hard")
    episode = CounterEpisode
    blocking = False

    def __init__(self, limit: int = 20) -> None:
        self.limit = limit
        self.started = []

    def tasks(self, split=None, limit=None):
        first = 3 if self.choose_split(split) == "easy" else 1000
        goals = list(range(first, first + 5))[:limit]
        return [count_to(goal) for goal in goals]

    def start(self, task):
        episode = CounterEpisode(task["data"]["goal"], self.limit)
        self.started.append(episode)
        return episode


class SlowCounter(Counter):
    """A counter whose episodes take their time to start."""

    blocking = True
    seconds = 0.3

    def start(self, task):
        time.sleep(self.seconds)
        return super().start(task)


class NotebookEpisode(Episode):
    """A notebook, whose pages are its snapshot. Each has a number of its own: replay cannot bring it back."""

    copies = 0

    def __init__(self, lines: list[str], number: int | None = None) -> None:
        NotebookEpisode.copies += 1
        self.number = NotebookEpisode.copies if number is None else number
        self.observation = "An empty notebook."
        self.lines = lines

    @action("write {line}")
    def write(self, line: str) -> StepResult:
        """Write a line."""
        self.lines.append(line)
        return StepResult(f"Notebook {self.number} has {len(self.lines)} lines.")

    @action("show")
    def show(self) -> str:
        """Show all lines."""
        return " / ".join(self.lines)

    def snapshot(self):
        return {"lines": list(self.lines), "number": self.number}


class Notebook(Environment):
    """An environment whose episodes are brought back from snapshots, never by replay."""

    name = "notebook"
    splits = ("all",)
    episode = NotebookEpisode

    def tasks(self, split=None, limit=None):
        self.choose_split(split)
        return [Task(id="notebook", instruction="Write something.")][:limit]

    def start(self, task):
        return NotebookEpisode([])

    def restore(self, task, snapshot):
        return NotebookEpisode(list(snapshot["lines"]), snapshot["number"])


def add(amount):
    """An action of the counter's."""
    return Action(name="add", args={"amount": amount}, text=f"add {amount}")


class ParrotEpisode(Episode):
    """Repeats what is said, and rates it by a table that nobody is told."""

    def __init__(self, rewards: dict[str, float | None]) -> None:
        self.observation = "A parrot looks at you."
        self.rewards = rewards

    @action("say {words}")
    def say(self, words: Annotated[str, "what to say"]) -> StepResult:
        """Say something; "bye" ends the task."""
        reward = self.rewards.get(words, 0.0)
        return StepResult(f"The parrot says: {words}.", reward, terminated=words.startswith("bye"))


class Parrot(Environment):
    """An environment whose rewards are in the task's data, so that a test sets the truth."""

    name = "parrot"
    splits = ("all",)
    episode = ParrotEpisode
    blocking = False

    def __init__(self, **rewards: float | None) -> None:
        self.rewards = rewards
        self.prepared = 0

    def tasks(self, split=None, limit=None):
        self.choose_split(split)
        return [Task(id="polly", instruction="Say the right word.", data={"rewards": self.rewards})][:limit]

    def start(self, task):
        return ParrotEpisode((task.get("data") or {})["rewards"])

    def prepare(self, task):
        self.prepared += 1
        return {"cage": [1, 2], "by": "environment"}


def count_to(goal):
    """A task of the counter's."""
    return Task(id=f"c{goal}", instruction=f"Count to {goal}.", data={"goal": goal})


INPUT = {"task": count_to(3)}


def compiled(replies, environment=None, saver=None, store=None, **options):
    """A graph, by default with the counter, and its model: the one given, or one with these replies."""
    model = replies if isinstance(replies, BaseChatModel) else ScriptedChatModel(replies=replies)
    graph = create_reflexion(model, environment or Counter(), **options)
    return graph.compile(checkpointer=saver, store=store), model


def play(replies, environment=None, task=None, **options):
    """The final state of a task, by default the environment's first one, and the model that played it."""
    environment = environment or Counter()
    graph, model = compiled(replies, environment, **options)
    return graph.invoke({"task": task or environment.tasks()[0]}), model


def asks_for(messages):
    """What a prompt asks the model for: `act`, `reflect` or `judge`."""
    if messages[1].text.endswith(("Reflection:", REFLECTION)):
        return "reflect"
    return "judge" if "Verdict: yes" in messages[0].text else "act"


def text_of(messages):
    """A whole prompt as text."""
    return "\n".join(message.text for message in messages)


def counting_badly(messages):
    """Plays the counter to 3 under `reflexion`: fails twice, for as long as the memory holds fewer than two lessons.

    12 acts, 2 reflections.
    """
    lessons = messages[1].text.count("- Trial ")
    reads = ["Action: read[]"] * 4
    trials = [
        ["Action: add 1", *reads],
        ["Thought: hm.", "Action: go up", *reads],
        ["Thought: one\nAction: add 1", "Action: add 2"],
    ]
    reply = trials[min(lessons, 2)][len(messages) // 2 - 1]
    if asks_for(messages) == "reflect":
        reply = f"Lesson {lessons + 1}."
    return AIMessage(reply, usage_metadata={"input_tokens": 100, "output_tokens": 10, "total_tokens": 110})


def timeless(state):
    """A final state to compare with others, without times, and without the key of its episode."""
    trials = [{**record, "seconds": 0} for record in state["trials"]]
    return {**state, "seconds": 0, "episode": {**state["episode"], "began": 0, "key": ""}, "trials": trials}


def finished(*actions, number=1):
    """A trial that came to its own end."""
    trial = {"number": number, "actions": list(actions), "snapshot": None, "verdict": None, "reflection": None}
    return cast(FinishedTrial, trial | {"stop_reason": "terminated", "feedback": "", "observation": ""})


def measured(environment, task, actions):
    """What an environment measures of a trial in which this was done."""
    return environment.review(task, finished(*actions)).measures


def with_action(act):
    """An environment with this one action."""

    class OneEpisode(Episode):
        observation = "A room."
        act_ = act

    class One(Counter):
        name = "one"
        episode = OneEpisode

        def start(self, task):
            return OneEpisode()

    return One()
