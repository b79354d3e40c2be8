"""The strategy `continue` in environments: the conversation and the world of a trial go on in the next one."""

from dataclasses import replace

import pytest
from langchain_core.messages import AIMessage
from langgraph.checkpoint.memory import InMemorySaver

from langgraph_reflexion import ConfigurationError, create_reflexion, load_environment
from langgraph_reflexion.envs.base import Environment, Episode, StepResult, action
from langgraph_reflexion.loop.profiles import PROFILES
from langgraph_reflexion.testing import ScriptedChatModel
from tests.support.toys import THREAD, Counter, count_to, text_of


class SheetEpisode(Episode):
    """A sheet of lines, which is handed in, and taken back to go on."""

    observation = "An empty sheet."

    def __init__(self, lines: list[str]) -> None:
        self.lines = lines

    @action("write {line}")
    def write(self, line: str) -> str:
        """Write a line."""
        self.lines.append(line)
        return f"The sheet has {len(self.lines)} lines."

    @action("hand in")
    def hand_in(self) -> StepResult:
        """Hand the sheet in."""
        return StepResult("Handed in.", float(len(self.lines) == 3), terminated=True)

    def snapshot(self):
        return {"lines": list(self.lines)}


class Sheet(Environment):
    """Sheets with the right number of lines, which is 3."""

    name = "sheet"
    splits = ("all",)
    episode = SheetEpisode

    def tasks(self, split=None, limit=None):
        self.choose_split(split)
        return [count_to(3)][:limit]

    def start(self, task):
        return SheetEpisode([])

    def restore(self, task, snapshot):
        return SheetEpisode(list(snapshot["lines"]))

    go_on = restore


def writing(messages):
    """Writes one line in each trial, and hands the sheet in."""
    handed_in = "The sheet has" in messages[-1].text
    return "Action: hand in" if handed_in else "Action: write one"


def going_on(model, environment, saver=None, **options):
    graph = create_reflexion(model, environment, **({"strategy": "continue", "feedback": "words"} | options))
    return graph.compile(checkpointer=saver)


def test_the_next_trial_goes_on_in_the_same_conversation_and_world():
    model = ScriptedChatModel(replies=writing)
    final = going_on(model, Sheet()).invoke({"task": count_to(3)})
    assert (final["status"], final["trial"], final["reflections"]) == ("solved", 3, [])
    assert [record["actions"] for record in final["trials"]] == [2, 2, 2], "each trial counts its own"
    first, second, third = model.prompts[1::2]
    assert [message.text for message in second[: len(first)]] == [message.text for message in first]
    assert [message.text for message in third[: len(second)]] == [message.text for message in second]
    told = second[-3].text
    assert told.startswith("Observation: Handed in.")
    assert "Status: FAILED, score 0\n| The trial came to its end without success." in told
    assert "nothing has been reset" in told
    assert "put back" not in text_of(third)


def test_a_model_that_calls_tools_is_told_after_the_result():
    def calling(messages):
        written = messages[-1].type == "tool"
        name, args = ("hand_in", {}) if written else ("write", {"line": "one"})
        return AIMessage("", tool_calls=[{"name": name, "args": args, "id": f"call-{len(messages)}"}])

    model = ScriptedChatModel(replies=calling)
    final = going_on(model, Sheet(), actor="tools").invoke({"task": count_to(3)})
    assert final["status"] == "solved"
    kinds = [message.type for message in model.prompts[-1]]
    assert kinds == ["system", "human", *["ai", "tool", "ai", "tool", "human"] * 2, "ai", "tool"]


def test_a_trial_that_was_broken_off_goes_on_in_another_process():
    saver = InMemorySaver()

    def breaking(messages):
        if sum("Handed in." in message.text for message in messages) == 1 and "has 2 lines" in messages[-1].text:
            raise RuntimeError("the power is gone")
        return writing(messages)

    with pytest.raises(RuntimeError, match="power"):
        going_on(ScriptedChatModel(replies=breaking), Sheet(), saver).invoke({"task": count_to(3)}, THREAD)
    model = ScriptedChatModel(replies=writing)
    final = going_on(model, Sheet(), saver).invoke(None, THREAD)
    assert (final["status"], final["trial"], len(model.prompts)) == ("solved", 3, 3)


def test_a_profile_that_completes_a_text_goes_on_as_well():
    def thinking(messages):
        said = messages[-1].text
        if said.endswith(("Thought 1:", "Thought 2:")):
            return "I go on."
        return "hand in" if said.endswith("I go on.\nAction 2:") else "write one"

    model = ScriptedChatModel(replies=thinking)
    profile = replace(PROFILES["paper"], name="mine", layout="original-numbered")
    final = going_on(model, Sheet(), profile=profile).invoke({"task": count_to(3)})
    assert final["status"] == "solved"
    last = model.prompts[-1][-1].text
    assert last.count("nothing has been reset") == 2
    assert last.count("Observation 2: Handed in.") == 2


ENDING = ["alfworld", "hotpotqa", "fever", pytest.param("webshop", marks=pytest.mark.extra("webshop"))]


@pytest.mark.parametrize("name", ENDING)
def test_where_an_episode_ends_for_good_nothing_can_go_on(name):
    with pytest.raises(ConfigurationError, match=rf"an episode of {name} ends for good.*'feedback'"):
        going_on(ScriptedChatModel(replies=writing), load_environment(name))


def test_an_environment_of_ones_own_ends_for_good_unless_it_says_otherwise():
    with pytest.raises(ConfigurationError, match=r"counter ends for good.*go_on"):
        going_on(ScriptedChatModel(replies=writing), Counter())
