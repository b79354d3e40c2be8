"""A model that first returns what the first example shows, and after a reflection follows the description."""

import re
from functools import cache

from langgraph_reflexion.envs.programming.environment import Programming

LESSON = "My `{name}` returned the result of the first example for every call. Next time I follow the description."
TESTS = "Tests:"
"""How the request for tests ends."""
REFLECTION = "Answer in one to three sentences, without code."
"""How the request for a reflection ends."""
_HEAD = re.compile(r"^def (?P<name>\w+)\(.*\) -> .*:$", re.MULTILINE)
_QUOTED = re.compile(r"^\| ?", re.MULTILINE)
_EXAMPLE = re.compile(r">>> (?P<call>.+)\n\s*(?P<result>.+)")


@cache
def solutions():
    """Return the right programs of the project's own problems, by the name of the function."""
    problems = Programming(language="python").problems.values()
    return {each.entry_point: f"{each.prompt}{each.canonical}" for each in problems}


def first_guess(text):
    """Return a program that is right for the first example of the last problem in a text, and its function's name."""
    head = list(_HEAD.finditer(text))[-1]
    example = _EXAMPLE.search(text, head.start())
    result = example["result"] if example else "None"
    return f"{head[0]}\n    return {result}", head["name"]


def tests_of(text):
    """Return the examples of the last problem in a text as tests."""
    head = list(_HEAD.finditer(text))[-1]
    examples = _EXAMPLE.finditer(text, head.start())
    return "\n".join(f"assert {each['call']} == {each['result']}" for each in examples)


def fenced(code):
    return f"```python\n{code}\n```"


def reply(messages):
    """Write tests, a reflection or a program, whichever the prompt asks for."""
    # In the prompt for a reflection, the problem is quoted.
    asked = _QUOTED.sub("", messages[1].text)
    program, name = first_guess(asked)
    if asked.rstrip().endswith(TESTS):
        return f"The examples are the tests.\n\n{fenced(tests_of(asked))}"
    lesson = LESSON.format(name=name)
    if asked.rstrip().endswith(REFLECTION):
        return lesson
    if lesson in asked:
        program = solutions().get(name, program)
    if "submit" in messages[0].text:
        return _acting(messages, program)
    return f"I write the function.\n\n{fenced(program)}"


def _acting(messages, program):
    """Run the tests first, then hand in."""
    begun = len(messages) > 2
    name = "submit" if begun else "run_tests"
    return f"Thought: I write the function.\nAction: {name}\n{program}"
