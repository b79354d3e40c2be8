"""The whole program from a completion: a function, or the rest of the one that the prompt begins."""

import re
import textwrap

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
    whole = re.search(rf"\b{re.escape(problem.entry_point)}\s*\(", completion)
    return completion if whole else problem.prompt + completion


def _python(problem: Problem, completion: str) -> str:
    name = problem.entry_point
    if re.search(
        rf"^(?:async\s+)?def\s+{re.escape(name)}\b|^{re.escape(name)}\s*=|^class\s+Solution\b", completion, re.M
    ):
        before = helpers(problem.prompt, name)
        return f"{before}\n\n{completion}" if before and before not in completion else completion
    ends = [completion.find(token) for token in problem.stop_tokens]
    cut = completion[: min((end for end in ends if end >= 0), default=len(completion))]
    # Models leave out the indentation, of the first line or of all.
    bodies = [completion, cut, f"\n    {cut.lstrip()}", "\n" + textwrap.indent(textwrap.dedent(cut), "    ")]
    programs = [problem.prompt + body for body in bodies]
    return next((program for program in programs if defines(program, name)), programs[0])


def _rust(problem: Problem, completion: str) -> str:
    if re.search(rf"\bfn\s+{re.escape(problem.entry_point)}\b", code_of(completion)):
        uses = re.findall(r"^\s*(?:pub\s+)?use\s+[^;]+;", problem.prompt, re.M)
        missing = [each.strip() for each in uses if each.strip() not in completion]
        return "\n".join([*missing, completion])
    program = problem.prompt + completion
    if balanced(program):
        return program
    # The body's last brace is missing, or text that is not code follows it.
    return problem.prompt + completion.partition("\n}")[0] + "\n}\n"
