from textwrap import indent

import pytest

from langgraph_reflexion.envs import load_environment

BODY = "    best = max(words)\n    return best"
PROGRAM = "def f(x):\n    return x"
FENCED = 'def f(x):\n    """\n    ```\n    4\n    ```\n    """\n    return x'


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
    ],
)
def test_the_program_is_found(coding, reply, code):
    assert coding.parse(reply)["args"] == {"code": code}
