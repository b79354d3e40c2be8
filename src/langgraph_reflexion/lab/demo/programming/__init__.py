"""The demo model on programming in Python: it searches for a program that fits the cases in the prompt.

It reads the problem with all its cases, the last attempt and the reflection on it. It knows no problem by name, and
goes by the examples:

* Writing tests, it takes every example.
* Implementing, it overlooks some of the examples, and takes the first program that fits the others.
* Reflecting, it names the case that its program missed. The next trial respects the cases that the reflection names.
* With a failed test in the prompt but no reflection, it fixes the symptom: that one case.

With tools, it runs its tests before it submits a program; the reflection uses their result.
"""

import ast
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import Any, Literal, NamedTuple

from langchain_core.messages import AIMessage, BaseMessage, SystemMessage

from langgraph_reflexion.lab.demo.persona import LUCK, habit
from langgraph_reflexion.lab.demo.programming.search import Example, Function, Program, find_program
from langgraph_reflexion.lab.demo.prompt import REFLECTION

_PYTHON = re.compile(
    r'^(?P<head>def (?P<name>\w+)\([^()]*\) -> [^\n]+?:)\s*\n\s*"""(?P<told>.*?)"""', re.MULTILINE | re.DOTALL
)
_TYPES = {
    "int": "int", "list[int]": "ints", "List[int]": "ints", "str": "str", "list[str]": "strs", "List[str]": "strs",
}  # fmt: skip
_NUMBER = re.compile(r"(?<![\w.])-?\d+(?!\w|\.\d)")
USUAL = (0, 1)
"""Constants that are always tried."""


class Case(NamedTuple):
    """A call with its expected result, as written and as values."""

    call: str
    expected: str
    example: Example


@dataclass(frozen=True)
class Exercise:
    """The problem."""

    name: str
    head: str
    """Its signature."""
    function: Function | None
    """Its types; None for types that the demo model does not know."""
    words: str
    """The docstring without examples."""
    shown: tuple[Case, ...]

    @property
    def constants(self) -> tuple[int, ...]:
        return tuple(dict.fromkeys([*map(int, _NUMBER.findall(self.words)), *USUAL]))

    def whole(self, body: Sequence[str]) -> str:
        return "\n".join([self.head, *(f"    {line}" for line in body)])

    def cases(self, text: str) -> tuple[Case, ...]:
        """Return the cases in a text: `f(1) == 2`, or those of a docstring."""
        text = re.sub(r">>> (.*)\n[ \t]*", r"\1 == ", text)
        written = re.findall(rf"\b{re.escape(self.name)}\([^\n`]*", text)
        found = {case.example.arguments: case for each in written if (case := self._case(each))}
        return tuple(found.values())

    def _case(self, written: str) -> Case | None:
        written = written.partition("  -- ")[0].strip()
        try:
            match _parsed(written):
                case ast.Expr(ast.Compare(ast.Call(args=args) as call, [ast.Eq()], [expected])):
                    example = Example(tuple(map(_value, args)), _value(expected))
                    if self._fits(example):
                        return Case(_source(written, call), _source(written, expected), example)
        except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
            pass
        return None

    def _fits(self, example: Example) -> bool:
        """Return whether a case has the types of the function."""
        if self.function is None:
            return True
        kinds = [*(kind for _, kind in self.function.arguments), self.function.returns]
        values = [*example.arguments, example.result]
        return len(kinds) == len(values) and all(map(_is, values, kinds))


def literal(value: Any) -> str:
    """Return a value in Python, with lists for tuples."""
    return f"[{', '.join(map(literal, value))}]" if isinstance(value, tuple) else repr(value)


def fenced(code: str) -> str:
    """Return a code block."""
    return f"```python\n{code}\n```"


def read_exercise(text: str) -> Exercise | None:
    """Return the last problem in a text."""
    found = list(_PYTHON.finditer(text))
    if not found:
        return None
    match = found[-1]
    words, mark, examples = match["told"].partition(">>>")
    bare = Exercise(match["name"], match["head"], _function(match["head"]), " ".join(words.split()), ())
    return replace(bare, shown=bare.cases(mark + examples))


def _function(head: str) -> Function | None:
    try:
        made = _parsed(f"{head} ...")
    except (ValueError, SyntaxError):
        return None
    if not isinstance(made, ast.FunctionDef):
        return None
    arguments = tuple((each.arg, _kind(each.annotation)) for each in made.args.args)
    returns = _kind(made.returns)
    return Function(arguments, returns) if arguments and returns and all(kind for _, kind in arguments) else None


def _kind(annotation: ast.expr | None) -> str:
    return _TYPES.get(ast.unparse(annotation), "") if annotation else ""


def _parsed(source: str) -> ast.stmt:
    """Parse the first statement."""
    try:
        return ast.parse(source).body[0]
    except SystemError:
        # Before Python 3.11.8 and 3.12.2, if another thread happens to parse something (CPython issue 106905).
        return _parsed(source)


def _source(written: str, node: ast.expr) -> str:
    return ast.get_source_segment(written, node) or ""


def _value(node: ast.expr) -> Any:
    return _frozen(ast.literal_eval(node))


def _is(value: Any, kind: str) -> bool:
    if kind in ("ints", "strs"):
        return isinstance(value, tuple) and all(_is(each, kind[:-1]) for each in value)
    return type(value) is {"int": int, "str": str}[kind]


def _frozen(value: Any) -> Any:
    if isinstance(value, dict | set):
        raise ValueError("neither a number nor a text nor a list")
    return tuple(map(_frozen, value)) if isinstance(value, list | tuple) else value


Role = Literal["tests", "implement", "reflect"]

_FAILED = re.compile(r"^Tests that failed:\n(?P<tests>.*?)(?=\n\n|\n\(|\Z)", re.MULTILINE | re.DOTALL)
_FENCED = re.compile(r"^```[^\n]*\n(?P<code>.*?)^```", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Assignment:
    """A prompt about programming."""

    role: Role
    exercise: Exercise
    code: str
    """The last implementation; empty if none is shown."""
    failed: tuple[Case, ...]
    """The tests that it failed."""
    lesson: str
    """The newest reflection on this function; empty without one."""
    begun: bool = False
    """Whether this trial has tried something out."""


def read_assignment(messages: Sequence[BaseMessage]) -> Assignment | None:
    """Read a prompt; return None if it is not about programming."""
    shown = [message.text for message in messages if not isinstance(message, SystemMessage)]
    said = [re.sub(r"^\| ?", "", text, flags=re.MULTILINE) for text in shown]  # without quotation marks
    exercise = read_exercise(said[0]) if said else None
    if exercise is None:
        return None
    asked = said[0]
    before, _, _ = asked.rpartition(exercise.head)
    code = _FENCED.search(before)
    named = re.compile(rf"\b{re.escape(exercise.name)}\b")
    reflections = [match["text"] for match in REFLECTION.finditer(asked) if named.search(match["text"])]
    role: Role = "implement"
    if asked.rstrip().endswith("Reflection:"):
        role = "reflect"
    elif asked.rstrip().endswith("Tests:"):
        role = "tests"
    failed = _FAILED.search(asked)
    return Assignment(
        role=role,
        exercise=exercise,
        code=code["code"] if code else "",
        failed=exercise.cases(failed["tests"]) if failed else (),
        lesson=reflections[-1] if reflections else "",
        begun=len(said) > 1,
    )


OVERLOOKS = 0.8
"""Probability of overlooking an example other than the first."""
VAGUE = 0.25
"""Probability of a useless reflection."""


def answer(assignment: Assignment, rng: Random, *, allowed: Collection[str], in_text: bool) -> AIMessage:
    """Answer a prompt about programming."""
    if assignment.role == "tests":
        return AIMessage(_tests(assignment.exercise))
    if assignment.role == "reflect":
        return AIMessage(_reflect(assignment, rng))
    thought, code = _implement(assignment, rng)
    if "submit" not in allowed:
        return AIMessage(f"{thought}\n\n{fenced(code)}")
    name = "submit" if assignment.begun or "run_tests" not in allowed else "run_tests"
    if in_text:
        return AIMessage(f"Thought: {thought}\nAction: {name}\n{code}")
    return AIMessage(
        thought, tool_calls=[{"name": name, "args": {"code": code}, "id": f"demo_{name}", "type": "tool_call"}]
    )


def _tests(exercise: Exercise) -> str:
    written = [f"assert {case.call} == {case.expected}" for case in exercise.shown]
    return f"The examples of the description are tests as they stand.\n\n{fenced(chr(10).join(written))}"


def _implement(assignment: Assignment, rng: Random) -> tuple[str, str]:
    exercise = assignment.exercise
    noticed = _noticed(exercise, rng)
    told = exercise.cases(assignment.lesson)
    if exercise.function and not assignment.lesson and assignment.failed and assignment.code:
        case = assignment.failed[0]
        return f"`{case.call}` has to be {case.expected}. I see to that.", _mended(exercise, assignment.code, case)
    minded = [*noticed, *(case for case in told if case.call not in [each.call for each in noticed])]
    program = _program(exercise, minded)
    body = program.write() if program else [f"return {minded[0].expected if minded else '[]'}"]
    cases = " and ".join(f"`{case.call}`" for case in minded) or "the description"
    return f"I go by {cases}.", exercise.whole(body)


def _noticed(exercise: Exercise, rng: Random) -> list[Case]:
    """Return the examples that it does not overlook: the same in every trial, but for a little luck."""
    lucky = rng.random() < LUCK
    return [
        case
        for index, case in enumerate(exercise.shown)
        if index == 0 or lucky or habit(exercise.head, f"overlooks {index}") >= OVERLOOKS
    ]


def _program(exercise: Exercise, minded: list[Case]) -> Program | None:
    """Return the program for as many of the cases as possible, the oldest cases first."""
    if exercise.function is None:
        return None
    for count in range(len(minded), 0, -1):
        examples = frozenset(case.example for case in minded[:count])
        if found := find_program(exercise.function, examples, exercise.constants):
            return found
    return None


def _mended(exercise: Exercise, code: str, case: Case) -> str:
    assert exercise.function is not None
    given = zip(exercise.function.arguments, case.example.arguments, strict=False)
    condition = " and ".join(f"{name} == {literal(value)}" for (name, _), value in given)
    lines = code.splitlines()
    at = next((i for i, line in enumerate(lines) if re.match(rf"\s*def {exercise.name}\b", line)), 0)
    exception = f"    if {condition}:\n        return {case.expected}"
    return "\n".join([*lines[: at + 1], exception, *lines[at + 1 :]])


def _reflect(assignment: Assignment, rng: Random) -> str:
    exercise = assignment.exercise
    before = exercise.cases(assignment.lesson)
    known = [case.call for case in before]
    new = next((case for case in assignment.failed if case.call not in known), None)
    said = []
    if rng.random() < VAGUE:
        said.append(f"My `{exercise.name}` was not right. Next time I will read its description more carefully.")
        new = None
    elif new is not None:
        said.append(
            f"My `{exercise.name}` went by too few cases: it misses `{new.call} == {new.expected}`. Mending that one "
            "case is not enough, the rule was wrong. Next time I will look for one rule that does it, too."
        )
    else:
        said.append(f"I cannot see from the tests which case my `{exercise.name}` misses.")
    if before:
        said.append("Still true: " + ", ".join(f"`{case.call} == {case.expected}`" for case in before) + ".")
    return " ".join(said)
