"""A model that is a script, behind OpenAI's API on loopback: it errs first, and then is right.

It knows the tasks of the worlds, and plays whatever part a rival gives it: it answers, calls tools, grades, writes
notes, and speaks in DSPy's format. It shows that the rivals run and what they count, and says nothing about language
models.
"""

import json
import re
import threading
from collections import Counter
from collections.abc import Iterable
from typing import Any, Self

from benchmarks.rivals.protocol import Move, Task, World
from tests.support.loopback import Answer, Call, ErrorAnswer, Listener

Row = dict[str, Any]

FIELD = re.compile(r"\[\[ ## (\w+) ## \]\]")
"""A field in DSPy's format."""

GRADER = "GraderResponse"
"""The tool by which RubricMiddleware's grader answers."""

NOTE = "The next attempt has to give what the check wanted."
PROMPT = "```\nDo the task exactly.\n```"
"""A new prompt, in the form in which GEPA reads one."""


class ScriptedServer:
    """Serves while the `with` lasts.

    Args:
        world: The world whose tasks it knows.
        errs: Attempts at each task that go wrong; after that, all are right.
        wrong: What it does in these, instead of the world's own wrong move.
        endless: Whether these call the tool again and again, and come to no end.
        cut_off: Whether their replies without a tool are cut off by the limit on tokens.

    Attributes:
        bodies: The requests so far.
    """

    def __init__(
        self,
        world: World,
        errs: int = 1,
        wrong: Move | None = None,
        *,
        endless: bool = False,
        cut_off: bool = False,
    ) -> None:
        self.errs, self.endless, self.cut_off = errs, endless, cut_off
        self._errs_now = False
        """Whether the last attempt that has begun goes wrong."""
        self._move = Move()
        """The move of that attempt."""
        self.bodies: list[Row] = []
        self._moves: list[tuple[Task, Move, Move]] = []
        for task in [*world.tasks("train"), *world.tasks("test")]:
            moves = world.script(task)
            if moves:
                self._moves.append((task, wrong or moves[0], moves[1]))
        self._attempts: Counter[str] = Counter()
        self._lock = threading.Lock()

    def __enter__(self) -> Self:
        self._listener = Listener(0, self._answer)
        self.url = f"{self._listener.url}/v1"
        return self

    def __exit__(self, *_: object) -> None:
        self._listener.close()

    def _answer(self, call: Call) -> Answer:
        if call.method != "POST":
            raise ErrorAnswer(404, "this server has POST /v1/chat/completions alone")
        body = json.loads(call.content)
        with self._lock:
            self.bodies.append(body)
            message = self._message(body)
        size = sum(len(text_of(each)) for each in body["messages"])
        usage = {"prompt_tokens": size // 4, "completion_tokens": 10, "total_tokens": size // 4 + 10}
        finish = "stop"
        if message.get("tool_calls"):
            finish = "tool_calls"
        elif self.cut_off and message["content"] == self._move.text and self._errs_now:
            finish = "length"
        choice = {"index": 0, "message": {"role": "assistant", **message}, "finish_reason": finish}
        completion = {"id": f"scripted-{len(self.bodies)}", "object": "chat.completion", "created": 0, "model": "any"}
        return Answer(json.dumps({**completion, "choices": [choice], "usage": usage}).encode())

    def _message(self, body: Row) -> Row:
        messages = body["messages"]
        said = "\n".join(text_of(each) for each in messages)
        names = [each["function"]["name"] for each in body.get("tools") or []]
        if body.get("response_format"):
            return {"content": json.dumps(graded(said))}
        if GRADER in names:
            return tool_call(GRADER, graded(said))
        if FIELD.search(text_of(messages[0])):
            return {"content": self._fields(messages, said)}
        if "within ```" in said:
            return {"content": PROMPT}
        if names:
            if messages[-1]["role"] != "tool":
                self._next_move(said)
            elif not self._goes_on():
                return {"content": "done"}
            return tool_call(self._move.tool, self._move.args)
        if is_note(said):
            return {"content": NOTE}
        return {"content": self._next_move(said).text or NOTE}

    def _goes_on(self) -> bool:
        """Return whether the attempt calls its tool once more."""
        return self.endless and self._errs_now

    def _next_move(self, said: str) -> Move:
        """Return the move of a new attempt at the task that a prompt names."""
        self._move = Move(NOTE)
        for task, wrong, right in self._moves:
            if task.text not in said:
                continue
            self._attempts[task.name] += 1
            self._errs_now = self._attempts[task.name] <= self.errs
            self._move = right
            if self._errs_now:
                self._move = wrong
            break
        return self._move

    def _fields(self, messages: list[Row], said: str) -> str:
        """Answer in DSPy's format, with the fields that the last message asks for."""
        last = text_of(messages[-1])
        asked = last[last.rfind("Respond with") :]
        lines = []
        for name in FIELD.findall(asked):
            lines += [f"[[ ## {name} ## ]]", self._field(name, said), ""]
        return "\n".join(lines)

    def _field(self, name: str, said: str) -> str:
        acted = "observation_0" in said and not self._goes_on()
        if name == "answer":
            move = Move("done")
            if "trajectory" not in said:
                move = self._next_move(said)
            return move.text
        if name == "next_tool_name":
            if acted:
                return "finish"
            if "observation_0" not in said:
                self._next_move(said)
            return self._move.tool
        if name == "next_tool_args":
            if acted:
                return "{}"
            return json.dumps(self._move.args)
        if name == "advice":
            return json.dumps({"answer": NOTE})
        return NOTE


def is_note(said: str) -> bool:
    """Return whether a prompt asks for a note on a failed attempt."""
    return "You review an attempt" in said or "has to be different in the next attempt" in said


def graded(said: str) -> Row:
    """Return the grader's words, which are those of the check."""
    name = "the check accepts"
    # The verdict is the last one in the transcript.
    if said.rfind("The check accepts the answer.") > said.rfind("The check does not accept"):
        criterion: Row = {"name": name, "passed": True}
        return {"result": "satisfied", "explanation": "accepted", "criteria": [criterion]}
    criterion = {"name": name, "passed": False, "gap": NOTE}
    return {"result": "needs_revision", "explanation": NOTE, "criteria": [criterion]}


def tool_call(name: str, args: Row) -> Row:
    """Return a message that calls a tool."""
    function = {"name": name, "arguments": json.dumps(args)}
    return {"content": None, "tool_calls": [{"id": f"call_{name}", "type": "function", "function": function}]}


def text_of(message: Row) -> str:
    """Return the text of a message, whose content may be in parts."""
    content = message.get("content") or ""
    if isinstance(content, str):
        return content
    parts: Iterable[Row] = content
    return "\n".join(part.get("text", "") for part in parts)
