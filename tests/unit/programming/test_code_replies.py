from functools import partial
from textwrap import indent

import pytest

from langgraph_reflexion.actors.reply import read_reply
from langgraph_reflexion.envs import load_environment
from langgraph_reflexion.envs.grammar import parse_action
from langgraph_reflexion.envs.programming.episode import blocks_in, program_in
from langgraph_reflexion.envs.protocols import for_actor

BODY = "    best = max(words)\n    return best"
PROGRAM = "def f(x):\n    return x"
FENCED = 'def f(x):\n    """\n    ```\n    4\n    ```\n    """\n    return x'

DOCUMENTED = f'"""Module.\n\n```\nf(1)\n```\n"""\n{PROGRAM}'
IN_A_STRING = "def blocks(s):\n    return s.split('```')\n\n\nHELP = '''\nAction: f\n'''"
ALIAS = "from typing import TypeAlias\n\nAction: TypeAlias = str\n\n\ndef f(a: Action) -> Action:\n    return a"
PROMPT = f"PROMPT = '''\nThought: hm\nAction: go\n'''\n{PROGRAM}"


@pytest.fixture(scope="module")
def coding():
    return load_environment("programming").for_actor("code")


@pytest.mark.parametrize(
    ("reply", "code"),
    [
        (f"{BODY}\n```\n\nThe program has this structure: ...", BODY),
        (f"{PROGRAM}\n```\n\nThis program returns x.", PROGRAM),
        (f"{PROGRAM}\n```\n\nFor example:\n```python\nf(1)\n```", PROGRAM),
        (f"Here it is:\n```\n{PROGRAM}", PROGRAM),
        (f"Here is a sketch:\n```text\nmultiply\n```\nand the program:\n```python\n{PROGRAM}\n```", PROGRAM),
        (f"It says `f`.\r\n```python\r\n{PROGRAM}\r\n```\r\n".replace("\n    ", "\r\n    "), PROGRAM),
        (f"1. The program:\n   ```python\n{indent(PROGRAM, '   ')}\n   ```", PROGRAM),
        (f"```python\n{FENCED}\n```\nIt multiplies.", FENCED),
        (f"from what I know:\n```\n{PROGRAM}\n```", PROGRAM),
        (f"{BODY}\n\ndef helper():\n    return 1", f"{BODY}\n\ndef helper():\n    return 1"),
        (f" Here is the program:\n```python\n{PROGRAM}\n```\nIt works.", PROGRAM),
        (" Here is the program:\n```\nf = abs\n```\nIt works.", "f = abs"),
        (f"\n Sure!\n~~~python\n{PROGRAM}\n~~~", PROGRAM),
        (f"  Two blanks, and the program:\n```python\n{PROGRAM}\n```", PROGRAM),
        (f" ```python\n{PROGRAM}\n```", PROGRAM),
        (f" {PROGRAM}", PROGRAM),
        (f" {PROGRAM}\n```\n\nThis program returns x.", PROGRAM),
    ],
)
def test_the_program_is_found(coding, reply, code):
    assert coding.parse(reply)["args"] == {"code": code}


@pytest.mark.parametrize(
    ("actor", "written"),
    [
        ("react", "Action: submit\n{}"),
        ("react", "Thought: hm\nAction: submit\n```python\n{}\n```\nThought: That is it."),
        ("react", "submit\n{}"),
        ("code", "```python\n{}\n```"),
        ("code", "```python\n{}\n```\nThought: That is it."),
    ],
)
@pytest.mark.parametrize("code", [IN_A_STRING, ALIAS, PROMPT])
def test_marks_of_steps_within_a_program_do_not_cut_it(actor, written, code):
    environment = for_actor(load_environment("programming"), actor)
    action = read_reply(written.format(code), partial(parse_action, environment))["action"]
    assert program_in(action["args"]["code"]) == code


def test_a_blank_before_the_fence_takes_none_of_the_indentation():
    assert blocks_in(f" ```python\n{PROGRAM}\n```") == [PROGRAM]


@pytest.mark.parametrize(
    ("code", "program"),
    [
        (f"```python\n{PROGRAM}\n```\nIt works.", PROGRAM),
        (f"Here is the program:\n```python\n{PROGRAM}\n```", PROGRAM),
        (f"{FENCED}\n", FENCED),
        (f"LIMIT = 4\n{FENCED}", f"LIMIT = 4\n{FENCED}"),
        (DOCUMENTED, DOCUMENTED),
        (f"{DOCUMENTED}\n", DOCUMENTED),
        ("It uses the\nclass of primes.\n```\nf = abs\n```", "f = abs"),
        (f"{BODY}\n", BODY),
        (" \n", ""),
    ],
)
def test_the_program_that_is_handed_in_is_the_block_unless_code_begins_it(code, program):
    assert program_in(code) == program
