"""A model server on loopback that wants its reasoning back."""

import http.client
import json
from dataclasses import replace
from typing import Any, ClassVar, NamedTuple
from urllib.parse import urlsplit

from tests.support.loopback import Answer, ErrorAnswer, Listener

LESSON = "Next time I go up."


class Exchange(NamedTuple):
    """A message of the model in a request: its reasoning, its calls, and the calls whose results follow."""

    reasoning: Any
    calls: set[Any]
    results: set[Any]


class Turn(NamedTuple):
    """What the model says next: it counts down, and once it has reflected, up; in the second step with two calls.

    `number` is unique for a server, and names its reasoning and its calls.
    """

    number: int
    text: str
    calls: list[dict[str, Any]]

    @property
    def reasoning(self):
        return f"reasoning {self.number}."


class ReasoningServer:
    """A provider's protocol with its rules on reasoning; what breaks them is answered as the provider answers it.

    A subclass has LangChain's own chat model of the provider (`client`), reads a request (`exchanges`, the model's
    messages, and `opening`, the user's first), takes the reasoning out of it (`strip`), and writes a turn (`answer`).

    Beside calls the reasoning has to be as it was issued, and each call has its result. That is stricter than most
    providers, which look at the last message or step. `bodies` are the requests so far, `turns` the answers to those
    with tools.
    """

    path: ClassVar[str]
    """The path of completions."""
    says: ClassVar[str]
    """Words of the error where the reasoning is missing."""

    def __init__(self):
        self.bodies = []
        self.turns = []

    def __enter__(self):
        # Clients that are never closed leave no connection behind.
        self._listener = Listener(0, lambda call: replace(self._answer(call), headers={"Connection": "close"}))
        self.url = self._listener.url
        return self

    def __exit__(self, *_):
        self._listener.close()

    def issued(self, turn):
        """Return the forms in which a turn's reasoning may come back."""
        return (turn.reasoning,)

    def check(self, body):
        """Raise the provider's error if a request breaks a rule."""
        issued = [form for turn in self.turns for form in self.issued(turn)]
        for at, (reasoning, calls, results) in enumerate(self.exchanges(body)):
            if calls and not reasoning:
                raise self.error(f"{self.says} (message {at})")
            if reasoning and reasoning not in issued:
                raise self.error(f"the reasoning of message {at} was modified")
            if calls != results:
                raise self.error(f"message {at} has calls without results, or results without calls")

    def trace(self, turn):
        """Return what shows in a request that a turn's reasoning is in it."""
        return turn.reasoning

    def error(self, message, status=400):
        """Return an error as the provider writes it."""
        return ErrorAnswer(status, message)

    def post(self, body):
        """Return the status and the text that a request gets."""
        connection = http.client.HTTPConnection(urlsplit(self.url).netloc, timeout=5)
        connection.request("POST", self.path, json.dumps(body))
        answer = connection.getresponse()
        status, text = answer.status, answer.read().decode()
        connection.close()
        return status, text

    def serves(self, path):
        """Return whether a path is that of the endpoint."""
        return path == self.path

    def _answer(self, call):
        body = json.loads(call.content)
        if not self.serves(call.path.partition("?")[0]):
            raise self.error(f"there is no {call.path}", 404)
        self.check(body)
        before, way = len(self.exchanges(body)), "up" if LESSON in self.opening(body) else "down"
        number = len(self.bodies)
        self.bodies.append(body)
        if not body.get("tools"):
            return self.answer(body, Turn(number, LESSON, []))
        names = [f"call{number}x{each}" for each in range(2 if before == 1 else 1)]
        calls = [{"id": name, "args": {"direction": way}} for name in names]
        self.turns.append(Turn(number, "I move on." if before == 0 else "", calls))
        return self.answer(body, self.turns[-1])


class ChatServer(ReasoningServer):
    """A protocol whose messages have tool calls and, in a field of its own, the reasoning."""

    field: ClassVar[str]

    def exchanges(self, body):
        found = []
        for message in body["messages"]:
            if message["role"] == "assistant":
                calls = {call.get("id", at) for at, call in enumerate(message.get("tool_calls") or ())}
                found.append(Exchange(message.get(self.field), calls, set()))
            elif message["role"] == "tool":
                found[-1].results.add(message.get("tool_call_id", len(found[-1].results)))
        return found

    def opening(self, body):
        return str(next(message["content"] for message in body["messages"] if message["role"] == "user"))

    def strip(self, body):
        for message in body["messages"]:
            message.pop(self.field, None)


def whole(body):
    """Return an answer in JSON."""
    return Answer(json.dumps(body).encode())


class RefusedAsProvider(ErrorAnswer):
    """An error in a provider's own format."""

    def __init__(self, status, body):
        super().__init__(status, "")
        self.answer = Answer(json.dumps(body).encode(), status)
