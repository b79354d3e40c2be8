"""Tool calls that a model writes as text."""

import pytest

from langgraph_reflexion.models.written_calls import LONGEST, read_calls

NAMES = ["calculate", "run_sql", "search", "finish"]

BONN = "SELECT name FROM customers WHERE city = 'Bonn'"

TOWER = "The Eiffel Tower was built by the company of Gustave Eiffel."

RECORDED = {
    "a block of code": (
        '```json\n{\n  "name": "calculate",\n  "arguments": {\n    "expression": "23*19+4"\n  }\n}\n```',
        [("calculate", {"expression": "23*19+4"})],
    ),
    "a block on one line": (
        '```json\n{"name": "finish", "arguments": {"answer": "The answer is 42."}}\n```',
        [("finish", {"answer": "The answer is 42."})],
    ),
    "doubled braces": (
        '{{"name": "run_sql", "arguments": {"query": "SELECT name FROM customers WHERE city = \'Bonn\'"}}}',
        [("run_sql", {"query": BONN})],
    ),
    "doubled braces, and a call without": (
        '{{"name": "calculate", "arguments": {"expression": "2*(3+4)"}}}\n'
        '{"name": "finish", "arguments": {"answer": "The Eiffel Tower was built by the company of Gustave Eiffel."}}',
        [("calculate", {"expression": "2*(3+4)"}), ("finish", {"answer": TOWER})],
    ),
    "two on one line, and a third that the limit cut off": (
        '{{"name": "search", "arguments": {"entity": "Ebberbrook and the Quarry"}}} '
        '{{"name": "finish", "arguments": {"answer": "Ebberbrook"}}} {{"name": "finish", "argu',
        [("search", {"entity": "Ebberbrook and the Quarry"}), ("finish", {"answer": "Ebberbrook"})],
    ),
}
"""Replies of Qwen2.5-Coder-1.5B-Instruct that llama.cpp's server sent as text, and the calls in them."""

WRITTEN = {
    "tags": ('<tool_call>\n{"name": "search", "arguments": {"entity": "Rome"}}\n</tool_call>', "Rome"),
    "a tag that the limit cut off": ('<tool_call>{"name": "search", "arguments": {"entity": "Rome"}}', "Rome"),
    "a block that the limit cut off": ('```json\n{"name": "search", "arguments": {"entity": "Rome"}}', "Rome"),
    "bare": ('{"name": "search", "arguments": {"entity": "Rome"}}', "Rome"),
    "all braces doubled": ('{{"name": "search", "arguments": {{"entity": "Rome"}}}}', "Rome"),
    "the outer brace doubled at the beginning alone": (
        '{{"name": "search", "arguments": {"entity": "Rome"}}',
        "Rome",
    ),
    "parameters": ('{"name": "search", "parameters": {"entity": "Rome"}}', "Rome"),
    "arguments as text": ('{"name": "search", "arguments": "{\\"entity\\": \\"Rome\\"}"}', "Rome"),
    "as a prompt shows the calls of an example": ('Action: search(entity="Rome")', "Rome"),
    "the same without a label": ('search(entity="Rome")', "Rome"),
    "the same with too many brackets": ('search(entity="Rome")")', "Rome"),
    "the same with a result that is made up": (
        'Action: search(entity="Rome")\nObservation: Rome is a town.\nAction: search(entity="Bonn")',
        "Rome",
    ),
    "JSON with a result that is made up": (
        '{{"name": "search", "arguments": {"entity": "Rome"}}}}\nObservation: Rome is a town.\n```',
        "Rome",
    ),
    "a line end in an argument": ('search(entity="Rome\nBonn")', "Rome\nBonn"),
    "braces in an argument": ('{"name": "search", "arguments": {"entity": "a }} b {{"}}', "a }} b {{"),
}

NO_CALLS = {
    "prose": "I would search for Rome.",
    "an unknown tool": '{"name": "fly", "arguments": {"entity": "Rome"}}',
    "no arguments": '{"name": "search"}',
    "arguments in a list": '{"name": "search", "arguments": ["Rome"]}',
    "JSON in prose": 'The call {"name": "search", "arguments": {"entity": "Rome"}} would find it.',
    "JSON before prose": '{"name": "search", "arguments": {"entity": "Rome"}}\nThis is how a call looks.',
    "an answer in JSON": '```json\n{"town": "Rome"}\n```',
    "cut off": '{"name": "search", "arguments": {"entity": "Ro',
    "a list": '["search"]',
    "a shown call in prose": 'search(entity="Rome") would find it.',
    "a shown call without a key": 'search("Rome")',
    "a shown call that is cut off": 'search(entity="Ro',
    "a shown call of an unknown tool": 'fly(entity="Rome")',
    "a name that is not a text": '{"name": ["search"], "arguments": {}}',
    "deep": "{" * 5000,
    "NaN": '{"name": "search", "arguments": {"entity": NaN}}',
    "infinity in arguments as text": '{"name": "search", "arguments": "{\\"entity\\": Infinity}"}',
}


@pytest.mark.parametrize(("text", "calls"), RECORDED.values(), ids=RECORDED)
def test_recorded_replies(text, calls):
    assert read_calls(text, NAMES) == ("", calls)


@pytest.mark.parametrize(("text", "entity"), WRITTEN.values(), ids=WRITTEN)
def test_forms(text, entity):
    assert read_calls(text, NAMES) == ("", [("search", {"entity": entity})])


@pytest.mark.parametrize("text", NO_CALLS.values(), ids=NO_CALLS)
def test_what_is_no_call_stays_text(text):
    assert read_calls(text, NAMES) == (text, [])


def test_what_is_said_before_and_after_stays():
    block = '```json\n{"name": "search", "arguments": {"entity": "Rome"}}\n```'
    said, calls = read_calls(f"I look it up.\n{block}\nThen I finish.", NAMES)
    assert (said, calls) == ("I look it up.\n\nThen I finish.", [("search", {"entity": "Rome"})])
    assert read_calls('I look.\n{"name": "search", "arguments": {"entity": "Rome"}}', NAMES)[0] == "I look."


def test_a_block_without_a_call_stays():
    code = "```python\nprint(1)\n```"
    block = '```json\n{"name": "search", "arguments": {"entity": "Rome"}}\n```'
    assert read_calls(f"{code}\n{block}", NAMES) == (code, [("search", {"entity": "Rome"})])


def test_a_long_text_is_not_searched():
    call = '{"name": "search", "arguments": {"entity": "Rome"}}'
    assert read_calls("x" * LONGEST + "\n" + call, NAMES)[1] == []
