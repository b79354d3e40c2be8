"""LeetCode problems: the examples in a prompt as tests. Hidden tests are not available offline."""

import ast
import re

from langgraph_reflexion.envs.programming.python_source import NotLiteralError, expression, literal_of

_EXAMPLE = re.compile(
    r"Input\s*:\s*(?P<given>.+?)\s*Output\s*:\s*(?P<output>.+?)\s*(?=Explanation|Example|Input|\Z)", re.S
)
_END = re.compile(r"^(Explanation|Example|Constraints|Note|Follow|You may|$)", re.M)
_NAMED = re.compile(r"(?:^|[,\s])\s*([A-Za-z_]\w*)\s*=(?!=)")
_WORDS = {"true": "True", "false": "False", "null": "None"}


def visible_tests(prompt: str, entry_point: str) -> tuple[str, ...]:
    """Return the examples of a prompt as asserts, except those with values that are not literals, such as trees."""
    text = "\n".join(line.lstrip("#").strip() for line in prompt.splitlines() if line.startswith("#"))
    types = re.search(rf"def {re.escape(entry_point)}\((.*?)\)\s*->\s*(.*?):", prompt, re.S)
    if types is None or re.search(r"Node\b", types[0]):
        return ()
    names = re.findall(r"(\w+)\s*:", types[1])
    tests = []
    for match in _EXAMPLE.finditer(text):
        given, output = match["given"], _END.split(match["output"] + "\n")[0].strip()
        try:
            arguments = _arguments(given, names)
            tests.append(f"assert {entry_point}({', '.join(arguments)}) == {_literal(output)}")
        except NotLiteralError:
            continue
    return tuple(dict.fromkeys(tests))


def _arguments(given: str, names: list[str]) -> list[str]:
    """Return the arguments in the order of the signature."""
    named = list(_NAMED.finditer(given))
    if not named:
        return [_literal(given)] if len(names) == 1 else _several(given, names)
    ends = [each.start() for each in named[1:]] + [len(given)]
    found = {each[1]: _literal(given[each.end() : end]) for each, end in zip(named, ends, strict=True)}
    if set(found) == set(names):
        return [found[name] for name in names]
    if len(found) != len(names):
        raise NotLiteralError("wrong number of arguments")
    # Some examples have outdated names, in the signature's order.
    return list(found.values())


def _several(given: str, names: list[str]) -> list[str]:
    texts = [ast.unparse(each) for each in _elements(given)]
    if len(texts) != len(names):
        raise NotLiteralError("wrong number of arguments")
    return texts


def _elements(given: str) -> list[ast.expr]:
    node = expression(_literal(f"[{given}]"))
    return node.elts if isinstance(node, ast.List) else []


def _literal(text: str) -> str:
    words = re.sub(
        r'("(?:[^"\\]|\\.)*")|\b(true|false|null)\b', lambda m: m[1] or _WORDS[m[2]], text.strip().rstrip(",.")
    )
    literal_of(words)
    return ast.unparse(expression(words))
