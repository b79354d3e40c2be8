"""Replies of real models: ReAct's notebooks in the folder REACT_NOTEBOOKS, the original's logs in UPSTREAM_LOGS."""

import asyncio
import json
import os
import re
from ast import literal_eval
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from langgraph_reflexion import create_reflexion
from langgraph_reflexion.actors.reply import read_reply
from langgraph_reflexion.envs.fever.environment import FEVER
from langgraph_reflexion.envs.hotpotqa.environment import HotPotQA
from langgraph_reflexion.envs.hotpotqa.episode import NO_MORE, NO_PAGE
from langgraph_reflexion.envs.hotpotqa.pages import SHOWN, Missing, Page
from langgraph_reflexion.envs.webshop.environment import WebShop
from langgraph_reflexion.testing import RecordedChatModel, RecordedReply
from tests.replication.hotpotqa_log import read_log

NOTEBOOKS = Path(os.environ.get("REACT_NOTEBOOKS", "none"))
LOGS = Path(os.environ.get("UPSTREAM_LOGS", "none"))

notebooks = pytest.mark.skipif(
    not (NOTEBOOKS / "FEVER.ipynb").is_file(), reason="REACT_NOTEBOOKS names no clone of ReAct's repository"
)
logs = pytest.mark.skipif(not LOGS.is_dir(), reason="UPSTREAM_LOGS names no folder with the original's logs")

IGNORED_FINISH = 3522
"""The line of the claim whose right answer ReAct's parser refused five times, as it began with a blank line."""
_CALL = re.compile(r"(\w+)\[(.*)\]", re.DOTALL)
_STEP = re.compile(
    r"^Thought (?P<number>\d+): (?P<thought>.*?)\nAction (?P=number):\s*(?P<action>.*?)\n"
    r"Observation (?P=number): (?P<seen>.*?)\s*(?=\nohh\.\.\.|\nThought \d+: |\n\{'steps'|\Z)",
    re.MULTILINE | re.DOTALL,
)


class Step(NamedTuple):
    """A step: what the model wrote, and what it saw."""

    thought: str
    action: str
    seen: str


class Episode(NamedTuple):
    """An episode of FEVER.ipynb, with what the notebook says of its end (`gt_answer`, `em`, ...)."""

    line: int
    claim: str
    steps: list[Step]
    end: dict[str, Any]


def printed(notebook):
    """Return what each cell printed."""
    cells = json.loads((NOTEBOOKS / notebook).read_text(encoding="utf-8"))["cells"]
    return ["".join("".join(each.get("text", ())) for each in cell.get("outputs", ())) for cell in cells]


def fever_episodes():
    episodes = []
    for part in "".join(printed("FEVER.ipynb")).split("\n-----------\n"):
        if opening := re.search(r"^(\d+) Claim: (.*)\n", part, re.MULTILINE):
            steps = [Step(*each.group("thought", "action", "seen")) for each in _STEP.finditer(part)]
            end = literal_eval(re.search(r"^\{'steps'.*\}", part, re.MULTILINE)[0])
            episodes.append(Episode(int(opening[1]), opening[2].strip(), steps, end))
    return episodes


class RecordedPages:
    """The pages of an episode: what its searches returned, and the sentences that its lookups found."""

    replays = True

    def __init__(self, episode):
        self.found = {}
        entity = ""
        for step in episode.steps:
            call = _CALL.fullmatch(step.action)
            name, said = (call[1].lower(), " ".join(call[2].split())) if call else ("", "")
            page = self.found.get(entity)
            if name == "search" and step.seen.startswith("Could not find "):
                self.found[said] = Missing(tuple(literal_eval(step.seen[step.seen.index("Similar: ") + 9 : -1])))
            elif name == "search":
                entity, pieces = said, step.seen.split(". ")
                shown = [f"{piece}. " for piece in pieces[:-1]] + pieces[-1:]
                self.found[said] = Page(said, (*shown, *[""] * (SHOWN - len(shown))))
            elif name == "lookup" and isinstance(page, Page) and (hit := re.match(r"\(Result .*?\) ", step.seen)):
                sentence = step.seen[hit.end() :]
                if sentence not in page.text:
                    self.found[entity] = Page(entity, (*page.sentences, f" {sentence}"))

    def find(self, entity):
        return self.found[entity]

    def close(self):
        pass


class RecordedFEVER(FEVER):
    """FEVER with the recorded pages of each task."""

    def __init__(self, episodes):
        super().__init__(path=NOTEBOOKS / "data" / "paper_dev.jsonl")
        claims = self.tasks()
        self.recorded = {claims[each.line]["id"]: each for each in episodes}

    def pages(self, task=None):
        return RecordedPages(self.recorded[task["id"]])


@notebooks
def test_recorded_episodes_of_fever_get_the_recorded_verdicts():
    environment = RecordedFEVER(fever_episodes())
    replies = [
        RecordedReply(
            task=task, trial=1, call=f"act {number}", reply=f"Thought: {step.thought}\nAction: {step.action}"
        )
        for task, episode in environment.recorded.items()
        for number, step in enumerate(episode.steps)
    ]
    model = RecordedChatModel(recording=replies)
    graph = create_reflexion(model, environment, profile="upstream", max_trials=1).compile()
    tasks = [task for task in environment.tasks() if task["id"] in environment.recorded]

    async def play():
        return await asyncio.gather(*(graph.ainvoke({"task": task}) for task in tasks))

    differ, seen = list[int](), Counter[tuple[str, bool]]()
    for final in asyncio.run(play()):
        episode = environment.recorded[final["task"]["id"]]
        assert final["task"]["instruction"] == f"Claim: {episode.claim}"
        assert final["task"]["data"]["answer"] == episode.end["gt_answer"]
        if (final["status"] == "solved") != bool(episode.end["em"]):
            differ.append(episode.line)
        for step, recorded in zip(final["trajectory"], episode.steps, strict=episode.line != IGNORED_FINISH):
            if step["action"]["name"] in ("search", "lookup"):
                seen[step["action"]["name"], _compared(step["observation"]) == _compared(recorded.seen)] += 1
    assert differ == [IGNORED_FINISH]
    # ReAct refused the other lookups: for a blank line before them, or words after them.
    assert seen == {("search", True): 530, ("lookup", True): 217, ("lookup", False): 6}


def _compared(observation):
    """Return what both say alike: ReAct brackets a title that it searched twice, counts hits that no one read, ..."""
    counted = re.sub(r"^\(Result (\d+) / \d+\)", r"(Result \1)", _plain(observation).replace(NO_PAGE, NO_MORE))
    return re.sub(r"^Could not find \[(.*?)\]\. ", r"Could not find \1. ", counted)


def _plain(text):
    return " ".join(text.split())


def readings(environment, replies):
    """Count how replies, each with the action that it means, are read; an action must be read as a whole."""
    found = Counter[str]()
    for reply, meant in replies:
        decision = read_reply(reply, environment.parse)
        action, (name, _, written) = decision["action"], meant.partition("[")
        argument = written.rpartition("]")[0] or written
        if action is None:
            assert (name, _plain(argument)) == ("think", decision["thought"]), reply
        elif action["name"]:
            (read,) = action["args"].values()
            alone, several, _ = argument.strip().partition(f"{read}]")
            assert (name.lower(), alone) == (action["name"], "" if several else read), reply
            found.update(["first of several"] * bool(several))
        found["thought" if action is None else action["name"] or "invalid"] += 1
    return found


@notebooks
def test_replies_of_the_webshop_notebook_are_read():
    runs = [text for text in printed("WebShop.ipynb") if "Action: think[" in text]
    replies = [each for text in runs for each in re.findall(r"^Action: ?(.*)\nObservation:", text, re.MULTILINE)]
    replies = [reply for reply in replies if reply != "reset"]
    for form in ("{}", "Action: {}", " {}\n"):
        found = readings(WebShop(), ((form.format(reply), reply) for reply in replies))
        assert found == {"click": 1822, "thought": 1089, "search": 523, "invalid": 3}


@notebooks
def test_replies_of_the_fever_notebook_are_read():
    steps = [step for episode in fever_episodes() for step in episode.steps]
    for form in ("Thought: {}\nAction: {}", " {}\nAction 1: {}", "Thought 1: {}\nAction 1: {}\nObservation 1: No."):
        found = readings(FEVER(), ((form.format(step.thought, step.action), step.action) for step in steps))
        assert found == {"search": 530, "lookup": 223, "finish": 496, "invalid": 1}


@logs
def test_replies_of_the_hotpotqa_logs_are_read():
    steps = set()
    for path in sorted((LOGS / "hotpotqa_runs").rglob("*_trials*.txt")):
        log = read_log(path)
        steps |= {step[:2] for name in log.questions for _, row in log.attempts(name) for step in row.steps}
    found = readings(HotPotQA(), ((f"Thought: {thought}\nAction: {action}", action) for thought, action in steps))
    assert found.total() - found["first of several"] == len(steps) > 0
    assert found["invalid"] <= 1
