"""The whole program from a completion: a function, or the rest of the one that the prompt begins."""

import re
import textwrap

from langgraph_reflexion.envs.programming.problems import Problem
from langgraph_reflexion.envs.programming.python_source import defines, helpers
from langgraph_reflexion.envs.programming.rust_source import balanced, code_of, depth, function_end


def assemble(problem: Problem, completion: str) -> str:
    """Return the whole program of a completion.

    A completion that defines the function is complete: the prompt's imports and other functions are put before it.
    Any other continues the prompt; if that does not parse, it is cut at the problem's stop tokens.

    Args:
        problem: The problem.
        completion: A whole function, or a body, in the problem's language.
    """
    completion = completion.replace("\r\n", "\n")
    if problem.language == "python":
        return _python(problem, completion)
    if problem.language == "rust":
        return _rust(problem, completion)
    whole = re.search(rf"\b{re.escape(problem.entry_point)}\s*\(", completion)
    return completion if whole else problem.prompt + completion


def _python(problem: Problem, completion: str) -> str:
    name = problem.entry_point
    if re.search(
        rf"^(?:async\s+)?def\s+{re.escape(name)}\b|^{re.escape(name)}\s*=|^class\s+Solution\b", completion, re.M
    ):
        before = helpers(problem.prompt, name)
        return f"{before}\n\n{completion}" if before and before not in completion else completion
    variants = [problem.prompt + each for each in _bodies(problem, completion)]
    for program in variants:
        if defines(program, name):
            return program
    return variants[0]


def _bodies(problem: Problem, completion: str) -> list[str]:
    """Return variants of a body: as is, cut, and with the indentation that models leave out."""
    cut = _cut(completion, problem.stop_tokens)
    glued = "" if problem.prompt.endswith("\n") else "\n"
    indented = [f"{glued}    {each.lstrip()}" for each in (completion, cut)]
    shifted = [glued + textwrap.indent(textwrap.dedent(each), "    ") for each in (completion, cut)]
    return [completion, cut, *(glued + each for each in (completion, cut) if glued), *indented, *shifted]


def _cut(completion: str, stop_tokens: tuple[str, ...]) -> str:
    ends = [completion.find(token) for token in stop_tokens]
    return completion[: min((end for end in ends if end >= 0), default=len(completion))]


def _rust(problem: Problem, completion: str) -> str:
    if re.search(rf"\bfn\s+{re.escape(problem.entry_point)}\b", code_of(completion)):
        uses = re.findall(r"^\s*(?:pub\s+)?use\s+[^;]+;", problem.prompt, re.M)
        missing = [each.strip() for each in uses if each.strip() not in completion]
        return "\n".join([*missing, completion])
    program = problem.prompt + completion
    end = function_end(program, len(problem.prompt))
    if end is None:  # the last brace of a body may be missing
        return program + "\n}" * max(0, depth(program))
    # Text after the function that is not code is cut.
    return program if balanced(program[end:]) else program[:end]
