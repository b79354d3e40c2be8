"""The agent that is composed in these tests, its verifier, and a caller: all that is said is made of what was heard.

The agent guesses a number: one more than the last reflection says that it was not, and 1 without a reflection. So it
needs three trials for a 3, and gets nowhere when a reflection does not reach it.
"""

from langchain.agents import create_agent
from langchain_core.messages import AIMessage
from langchain_core.tools import tool

from langgraph_reflexion import create_reflexion
from langgraph_reflexion.testing import ScriptedChatModel

TASK = "Guess the number."
LESSON = "at this task w"
"""In every text on earlier attempts, of which one was not accepted or several were not."""
THREAD = {"configurable": {"thread_id": "1"}}
SOLVED = {"status": "solved", "trials": 3, "best": 3, "score": 1.0, "fault": ""}


@tool
def look_up(number: int) -> str:
    """Look a number up."""
    return f"{number} is a number."


def call(name, **args):
    """A message that calls one tool."""
    calls = [{"name": name, "args": args, "id": f"call-{name}", "type": "tool_call"}]
    return AIMessage(
        "", tool_calls=calls, usage_metadata={"input_tokens": 10, "output_tokens": 1, "total_tokens": 11}
    )


class Guessing:
    """The models and the verifier, and the agent's tool."""

    def __init__(self, tool=look_up):
        self.tool = tool
        self.guesses = ScriptedChatModel(replies=self._guess)
        self.reflects = ScriptedChatModel(replies=self._reflect)

    def agent(self, **options):
        """The agent by itself."""
        return create_agent(self.guesses, [self.tool], **options)

    def graph(self, agent=None, **options):
        """The agent in a Reflexion graph."""
        return create_reflexion(self.reflects, actor=agent or self.agent(), **{"evaluator": self.is_three} | options)

    def is_three(self, task, result):
        """The verifier."""
        assert TASK in task
        return result == "It is 3."

    def _guess(self, messages):
        text = "\n".join(message.text for message in messages)
        number = int(text.rpartition("It was not ")[2][:1]) + 1 if LESSON in text else 1
        return AIMessage(f"It is {number}.") if messages[-1].type == "tool" else call("look_up", number=number)

    def _reflect(self, messages):
        return f"It was not {messages[-1].text.rpartition('It is ')[2][:1]}."

    def caller(self, name, **args):
        """A model that calls a tool of this name for the task, and passes on what it hears then."""

        def reply(messages):
            if messages[-1].type == "human":
                return call(name, **args)
            heard = next(message.text for message in reversed(messages) if "It is" in message.text)
            return AIMessage(f"I heard: {heard}")

        return ScriptedChatModel(replies=reply)

    def expect_lessons(self):
        """What the reflections said reached the agent, each trial began anew, and nobody was asked too often."""
        begun = [prompt for prompt in self.guesses.prompts if prompt[-1].type == "human"]
        told = [" ".join(message.text for message in prompt if LESSON in message.text) for prompt in begun]
        assert [text.count("It was not") for text in told] == [0, 1, 2]
        assert "Note after attempt 1: It was not 1.\n\nNote after attempt 2: It was not 2." in told[2]
        assert len(self.guesses.prompts) == 6
        assert len(self.reflects.prompts) == 2
