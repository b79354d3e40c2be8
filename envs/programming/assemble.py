"""The whole program from a completion: a function, or the rest of the one that the prompt begins."""

import re
import textwrap
from collections.abc import Sequence

from langgraph_reflexion.envs.programming.problems import Problem
from langgraph_reflexion.envs.programming.python_source import defines, helpers
from langgraph_reflexion.envs.programming.rust_source import balanced, code_of


def assemble(problem: Problem, completion: str) -> str:
    """Return the whole program of a completion.

    A completion that defines the function is complete: the prompt's imports and other functions are put before it.
    Any other continues the prompt; if that does not parse, it is cut at the problem's stop tokens.
    """
    completion = completion.replace("\r\n", "\n")
    if problem.language == "python":
        return _python(problem, completion)
    if problem.language == "rust":
        return _rust(problem, completion)
    name = re.escape(problem.entry_point)
    if re.search(rf"\b{name}\s*\(", completion):
        return completion
    return problem.prompt + completion


def _python(problem: Problem, completion: str) -> str:
    if _is_whole_python(completion, problem.entry_point):
        before = helpers(problem.prompt, problem.entry_point)
        # A completion often repeats the whole prompt.
        if not before or before in completion:
            return completion
        return f"{before}\n\n{completion}"
    cut = _cut(completion, problem.stop_tokens)
    # Models leave out the indentation, of the first line or of all.
    first_line_indented = f"\n    {cut.lstrip()}"
    all_indented = "\n" + textwrap.indent(textwrap.dedent(cut), "    ")
    for body in (completion, cut, first_line_indented, all_indented):
        program = problem.prompt + body
        if defines(program, problem.entry_point):
            return program
    return problem.prompt + completion


def _is_whole_python(completion: str, entry_point: str) -> bool:
    """Whether a completion defines the function: by `def`, by assignment, or in LeetCode's class."""
    name = re.escape(entry_point)
    beginning = rf"^(?:async\s+)?def\s+{name}\b|^{name}\s*=|^class\s+Solution\b"
    return re.search(beginning, completion, re.M) is not None


def _cut(completion: str, stop_tokens: Sequence[str]) -> str:
    """Return a completion up to the first of the stop tokens."""
    end = len(completion)
    for token in stop_tokens:
        position = completion.find(token)
        if position >= 0:
            end = min(end, position)
    return completion[:end]


def _rust(problem: Problem, completion: str) -> str:
    name = re.escape(problem.entry_point)
    if re.search(rf"\bfn\s+{name}\b", code_of(completion)):
        return _with_uses(problem.prompt, completion)
    program = problem.prompt + completion
    if balanced(program):
        return program
    # The body's last brace is missing, or text that is not code follows it.
    body = completion.partition("\n}")[0]
    return f"{problem.prompt}{body}\n}}\n"


def _with_uses(prompt: str, program: str) -> str:
    """Return a program after the `use` declarations of a prompt that it does not repeat."""
    lines = []
    # Models leave out what the prompt imports.
    for declaration in re.findall(r"^\s*(?:pub\s+)?use\s+[^;]+;", prompt, re.M):
        use = declaration.strip()
        if use not in program:
            lines.append(use)
    lines.append(program)
    return "\n".join(lines)
