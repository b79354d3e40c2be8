"""What model servers may answer: each a fault of `ModelServer`."""

import gzip
import json
from functools import partial

from tests.support.loopback import Answer
from tests.support.model_server import MODEL_FAULTS

HALF = "\ud83d"
"""Half of a surrogate pair."""
HUGE = 123456789012345678901234567890
"""Beyond 64 bits."""


def error(status, body, headers=None, kind="application/json"):
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    return lambda completion: Answer(content, status, headers or {}, kind=kind)


def said(status, message, **more):
    return error(status, {"error": {"message": message, "type": "x", "param": None, "code": None} | more})


def body(content, **more):
    """An answer of 200 with this body."""
    return lambda completion: Answer(content, **more)


def raw(content):
    return lambda completion: Answer(content, ending="raw")


def wire(change):
    """The completion's own bytes, changed, or sent with other headers."""
    return lambda completion: change(json.dumps(completion).encode())


def whole(**changes):
    return lambda completion: completion | changes


def without(*names):
    return lambda completion: {name: value for name, value in completion.items() if name not in names}


def choice(**changes):
    return lambda completion: completion | {"choices": [completion["choices"][0] | changes]}


def message(**changes):
    return lambda completion: choice(message=completion["choices"][0]["message"] | changes)(completion)


def bare(*names, of="message"):
    def made(completion):
        first = completion["choices"][0]
        kept = {name: value for name, value in (first[of] if of == "message" else first).items() if name not in names}
        return choice(message=kept)(completion) if of == "message" else completion | {"choices": [kept]}

    return made


def calls(*arguments, name="add", content=None, number="c1", **more):
    """Tool calls with these arguments, as texts."""
    made = [
        {"id": f"{number}{index}", "type": "function", "function": {"name": name, "arguments": each}, **more}
        for index, each in enumerate(arguments)
    ]
    return lambda completion: choice(finish_reason="tool_calls")(
        message(content=content, tool_calls=made)(completion)
    )


def usage(read, wrote=5, total=17):
    return whole(usage={"prompt_tokens": read, "completion_tokens": wrote, "total_tokens": total})


def in_events(*events):
    """A stream of these events, whether or not one was asked for."""
    return lambda completion: Answer([b"data: " + each + b"\n\n" for each in events])


def chunk(**more):
    head = {"id": "x", "object": "chat.completion.chunk", "created": 1, "model": "any"}
    return json.dumps({**head, "choices": [{"index": 0, "delta": more, "finish_reason": None}]}).encode()


STATUSES = {str(status): said(status, "The server had an error.") for status in (
    *(400, 402, 408, 409, 413, 415, 418, 422, 425, 451, 499, 501, 502, 504, 520, 529),
)}  # fmt: skip

RETRY_AFTER = {
    f"429, retry after {value}": error(429, {"error": "Slow down."}, {"Retry-After": value})
    for value in ("0", "-5", "nan", "inf", "soon", "0.01", "Wed, 21 Oct 2015 07:28:00 GMT")
}

ERRORS = {
    "a detail": error(422, {"detail": [{"loc": ["body", "messages"], "msg": "odd"}]}),
    "a string": error(400, {"error": "the model is busy"}),
    "a page": error(502, b"<html><body><h1>502 Bad Gateway</h1></body></html>", kind="text/html"),
    "no body": error(500, b""),
    "half a pair in an error": said(500, f"bad {HALF} half"),
    "NULs in an error": said(500, "bad \0\x1b[31m red \x07"),
    "endless error": said(500, "x" * 300_000),
    "null": error(500, None),
    "error in a good status": error(200, {"error": {"message": "Provider returned error", "code": 502}}),
    "moved": error(301, b"", {"Location": "/nowhere"}),
}

BODIES = {
    "empty": body(b""),
    "null body": body(b"null"),
    "a list body": body(b"[]"),
    "a page with 200": body(b"<html><h1>Welcome</h1></html>", kind="text/html"),
    "half of the JSON": wire(lambda data: Answer(data[: len(data) // 2])),
    "invalid UTF-8": wire(lambda data: Answer(data.replace(b'"content": "', b'"content": "\xff\xfe ', 1))),
    "UTF-16": wire(lambda data: Answer(data.decode().encode("utf-16"))),
    "a byte order mark": wire(lambda data: Answer(b"\xef\xbb\xbf" + data)),
    "as text": wire(partial(Answer, kind="text/plain")),
    "gzip": wire(lambda data: Answer(gzip.compress(data), headers={"Content-Encoding": "gzip"})),
    "broken gzip": body(b"\x1f\x8bnope", headers={"Content-Encoding": "gzip"}),
    "large headers": wire(partial(Answer, headers={"X-Large": "a" * 60_000})),
    "another protocol": raw(b"SSH-2.0-OpenSSH_9.2\r\n"),
    "nothing": raw(b""),
    "an odd header": raw(b"HTTP/1.1 200 OK\r\nx bad name: 1\r\nContent-Length: 2\r\n\r\n{}"),
}

REPLIES = {
    "choices null": whole(choices=None),
    "choices missing": without("choices"),
    "three choices": lambda completion: completion | {"choices": completion["choices"] * 3},
    "message null": choice(message=None),
    "message missing": bare("message", of="choice"),
    "content null": message(content=None),
    "content missing": bare("content"),
    "content empty": message(content=""),
    "content a number": message(content=42),
    "content an object": message(content={"a": 1}),
    "content a list": message(content=[{"type": "text", "text": "Action: add 1"}]),
    "role missing": bare("role"),
    "another role": message(role="user"),
    "cut off": choice(finish_reason="length"),
    "filtered": lambda completion: choice(finish_reason="content_filter")(message(content=None)(completion)),
    "an odd finish": choice(finish_reason="eos_token"),
    "a refusal": message(content=None, refusal="I cannot help with that."),
    "reasoning": message(reasoning_content="Let me think. " * 50),
    "open think tag": message(content="<think>I go on and on"),
    "half a pair": message(content=f"Thought: {HALF} half\nAction: read[{HALF}]"),
    "NULs": message(content="Thought: \0 nul\nAction: read[]\0"),
    "endless lines": message(content="\n" * 300_000 + "x"),
    "endless fence": message(content="```" + "a" * 300_000 + "`"),
    "one endless line": message(content="a" * 300_000),
    "no usage": without("usage"),
    "usage a list": whole(usage=[]),
    "usage in words": usage("12", "x", None),
    "usage below zero": usage(-100_000, -5, -7),
    "usage beyond 64 bits": usage(HUGE, 5, HUGE),
    "usage in parts": usage(10.5, 5.5, 16.0),
    "usage of the total": whole(usage={"total_tokens": 7}),
}

CALLS = {
    "broken arguments": calls('{"amount": '),
    "a list of arguments": calls("[1]"),
    "a number as arguments": calls("42"),
    "a text as arguments": calls('"x"'),
    "null arguments": calls("null"),
    "no arguments": calls(""),
    "arguments missing": calls(None),
    "an object as arguments": calls({"amount": 1}),
    "an integer beyond 64 bits": calls(json.dumps({"amount": HUGE})),
    "an integer of 5,000 digits": calls('{"amount": ' + "9" * 5_000 + "}"),
    "NaN": calls('{"amount": NaN, "times": 1e999}'),
    "half a pair in an argument": calls(json.dumps({"amount": [HALF]})),
    "half a pair in a name": calls(json.dumps({"amount": {HALF: 1}, HALF: 2})),
    "half a pair in the tool": calls("{}", name=f"ad{HALF}"),
    "half a pair in broken arguments": calls("{" + HALF),
    "half a pair beside a call": calls("{}", name="read", content=f"x {HALF} y"),
    "half a pair in an id": calls("{}", name="read", number=HALF),
    "deep arguments": calls('{"amount": ' + "[" * 900 + "]" * 900 + "}"),
    "very deep arguments": calls('{"amount": ' + "[" * 90_000 + "]" * 90_000 + "}"),
    "endless arguments": calls(json.dumps({"amount": "x" * 300_000})),
    "an endless name": calls('{"amount": 1}', name="x" * 300_000),
    "an endless id": calls('{"amount": 1}', number="x" * 300_000),
    "a hundred calls": calls(*["{}"] * 100, name="read"),
    "no tool": calls("{}", name=None),
    "an unknown tool": calls("{}", name="no_such_tool"),
}

STREAMS = {
    "a stream that stops": in_events(chunk(role="assistant", content="Thought: I")),
    "an error in a stream": in_events(chunk(content="T"), b'{"error": {"message": "overloaded", "code": 503}}'),
    "garbage in a stream": in_events(chunk(content="Thought"), b"{nope"),
    "a stream without choices": in_events(b'{"choices": []}', b"[DONE]"),
    "an empty stream": in_events(b"[DONE]"),
}

NAMED = {name: name for name in MODEL_FAULTS if name not in ("429-retry-after", "drip")}

FAULTS = {**NAMED, **STATUSES, **RETRY_AFTER, **ERRORS, **BODIES, **REPLIES, **CALLS, **STREAMS}
"""All of them by name."""
