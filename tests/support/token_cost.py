"""What Reflexion around an agent costs in calls and tokens, against a loop written by hand, and where the tokens go.

`python -m tests.support.token_cost` prints the tables of docs/howto/wrap-an-agent.md. Two agents of `create_agent`
solve their tasks in the third trial: one asks a SQLite database, one writes a program that pytest checks. Their model
is a script that does what its prompt says, so every loop needs the same calls; it says nothing about language models.
Four characters count as a token. Descriptions of tools are not counted: every loop sends the same.
"""

import sqlite3
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from langchain.agents import create_agent
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.tools import BaseTool, tool

from langgraph_reflexion import ReflexionMiddleware, WrappedAgent, create_reflexion
from langgraph_reflexion.models.usage import CHARACTERS_PER_TOKEN, size
from langgraph_reflexion.testing import ScriptedChatModel

TRIALS = 3
"""The trials that each task needs."""
BY_HAND = "by hand"
LOOPS = ("create_reflexion", "ReflexionMiddleware", BY_HAND)

INSTRUCTION = "instructions for reflections"
EXAMPLE = "the example of a reflection"
PARTS = {
    INSTRUCTION: "",
    EXAMPLE: "",
    "the attempt's steps, for reflections": "What the agent did:",
    "the check's words, in the next trial": "What the check said of the last attempt:",
    "what is quoted, in the next trial": "Tool results, answers",
}
"""What a loop written by hand does not say, and how its paragraph begins."""

SALES_TASK = (
    "Which customer had the highest turnover in 2024? The database has the tables sales and refunds. "
    "Answer with the customer's name alone."
)
SALES = """
DROP TABLE IF EXISTS sales;
DROP TABLE IF EXISTS refunds;
CREATE TABLE sales (customer TEXT, year INTEGER, cents INTEGER);
CREATE TABLE refunds (customer TEXT, year INTEGER, cents INTEGER);
INSERT INTO sales VALUES ('Acme', 2024, 90000), ('Bolt', 2024, 80000), ('TEST', 2024, 85000), ('Acme', 2023, 70000);
INSERT INTO refunds VALUES ('Acme', 2024, 20000);
"""
TURNOVER = "SELECT customer, sum(cents) FROM ({rows}) WHERE year = 2024{only} GROUP BY customer ORDER BY 2 DESC"
WITHOUT_REFUNDS = "SELECT * FROM sales UNION ALL SELECT customer, year, -cents FROM refunds"

SLUG_TASK = (
    "Write slug.py with a function slug(title) that returns the last part of a URL for a title: lower case, words "
    "joined by hyphens. The tests are in test_slug.py."
)
SLUG_TESTS = """
from slug import slug

def test_words(): assert slug("Good Morning") == "good-morning"
def test_spaces(): assert slug("Good  Morning ") == "good-morning"
def test_marks(): assert slug("Good Morning!") == "good-morning"
"""
SLUGS = (
    'def slug(title):\n    return title.lower().replace(" ", "-")\n',
    'def slug(title):\n    return "-".join(title.lower().split())\n',
    'import re\n\n\ndef slug(title):\n    return "-".join(re.findall(r"[a-z0-9]+", title.lower()))\n',
)

NOTES = {
    "got: Acme": "The next attempt must see that refunds are subtracted from the sales.",
    "got: TEST": "The next attempt must leave out TEST, which is an account for tests.",
    "FAILED test_slug.py::test_spaces": "The next attempt must pass test_spaces: split the title at all spaces.",
    "FAILED test_slug.py::test_marks": "The next attempt must pass test_marks: keep letters and digits alone.",
}
"""What the model notes on a failed attempt, by words of the check."""

REVIEW = "You review an attempt"
"""How a prompt for a note begins, in every loop."""


@dataclass(frozen=True)
class World:
    """An agent's task and its surroundings.

    Attributes:
        task: The task in words.
        tools: The agent's tools.
        reset: Puts back what they change.
        check: Returns whether an answer is accepted, and what is said of it.
        reply: Returns what the model says to a prompt of the agent.
    """

    task: str
    tools: list[BaseTool]
    reset: Callable[[str], None]
    check: Callable[[str], tuple[bool, str]]
    reply: Callable[[Sequence[BaseMessage]], AIMessage]


@contextmanager
def sales() -> Iterator[World]:
    """An agent that asks a database."""
    database = sqlite3.connect(":memory:", check_same_thread=False)

    @tool
    def sql(query: str) -> str:
        """Run a query."""
        return "\n".join(str(row) for row in database.execute(query))

    def reset(task):
        database.executescript(SALES)

    def check(result):
        said = {
            "Acme": "wanted: refunds are subtracted; got: Acme, whose refunds were not",
            "TEST": "wanted: a real customer; got: TEST, which is an account for tests",
        }
        return result == "Bolt", said.get(result, "")

    def reply(messages):
        known = _text(messages)
        done = sum(message.type == "tool" for message in messages)
        if done == 0:
            return _call("sql", query="SELECT sql FROM sqlite_master")
        if done == 1:
            rows, only = "SELECT * FROM sales", ""
            if "refunds are subtracted" in known:
                rows = WITHOUT_REFUNDS
            if "account for tests" in known:
                only = " AND customer <> 'TEST'"
            return _call("sql", query=TURNOVER.format(rows=rows, only=only))
        return AIMessage(messages[-1].text.split("'")[1])

    yield World(SALES_TASK, [sql], reset, check, reply)
    database.close()


@contextmanager
def slug() -> Iterator[World]:
    """An agent that writes a program."""
    with TemporaryDirectory() as name:
        folder = Path(name)

        @tool
        def write(path: str, content: str) -> str:
            """Write a file."""
            (folder / Path(path).name).write_text(content)
            return "written"

        def reset(task):
            (folder / "slug.py").unlink(missing_ok=True)
            (folder / "test_slug.py").write_text(SLUG_TESTS)

        def check(result):
            pytest = [sys.executable, "-B", "-m", "pytest", "-q", "--tb=line", "-p", "no:cacheprovider"]
            # The same words on every machine and in every run.
            alone = {"COLUMNS": "80", "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
            done = subprocess.run(pytest, cwd=folder, env=alone, capture_output=True, text=True, check=False)
            words = done.stdout.replace(str(folder.resolve()), ".").rpartition(" in ")[0]
            return done.returncode == 0, words.strip()

        def reply(messages):
            if messages[-1].type == "tool":
                return AIMessage("slug.py is written.")
            known = _text(messages)
            version = ("split the title" in known) + ("letters and digits" in known)
            return _call("write", path="slug.py", content=SLUGS[version])

        yield World(SLUG_TASK, [write], reset, check, reply)


WORLDS = {"SQL": sales, "pytest": slug}


def by_hand(model: ScriptedChatModel, world: World) -> int:
    """Play with a loop as one writes it by hand; return the trial that solved the task, 0 if none did."""
    agent = create_agent(model, world.tools)
    notes: list[str] = []
    for trial in range(1, TRIALS + 1):
        world.reset(world.task)
        prompt = "\n".join([world.task, *notes])
        answer = agent.invoke({"messages": [("human", prompt)]})["messages"][-1].text
        accepted, words = world.check(answer)
        if accepted:
            return trial
        note = model.invoke(
            f"{REVIEW} at a task that failed.\nTask: {world.task}\nAnswer: {answer}\nThe check said: {words}\n"
            "What must the next attempt do differently? Answer in one sentence."
        )
        notes.append(f"Note on attempt {trial}: {note.text}")
    return 0


Call = tuple[list[BaseMessage], AIMessage]


@cache
def played(name: str, loop: str) -> tuple[Call, ...]:
    """Return the prompts and replies of all calls until a world's task is solved.

    Raises:
        AssertionError: it was not solved in the third trial.
    """
    with WORLDS[name]() as world:
        return tuple(_play(world, loop))


def _play(world: World, loop: str) -> list[Call]:
    calls: list[Call] = []

    def reply(messages):
        if is_review(messages):
            said = AIMessage(next(note for words, note in NOTES.items() if words in messages[-1].text))
        else:
            said = world.reply(messages)
        calls.append((messages, said))
        return said

    model = ScriptedChatModel(replies=reply)
    if loop == BY_HAND:
        assert by_hand(model, world) == TRIALS
        return calls
    if loop == "create_reflexion":
        agent = WrappedAgent(create_agent(model, world.tools), reset=world.reset)
        graph = create_reflexion(model, actor=agent, evaluator=world.check).compile()
    else:
        around = ReflexionMiddleware(model, evaluator=world.check, reset=world.reset)
        graph = create_agent(model, world.tools, middleware=[around])
    answer = graph.invoke({"messages": [("human", world.task)]})["messages"][-1]
    outcome = answer.response_metadata["reflexion"]
    assert (outcome["status"], outcome["trials"]) == ("solved", TRIALS), outcome
    return calls


def is_review(messages: Sequence[BaseMessage]) -> bool:
    """Return whether a prompt asks for a note on a failed attempt."""
    return REVIEW in messages[0].text


def _text(messages):
    return "\n".join(message.text for message in messages)


def _call(name, **args):
    return AIMessage("", tool_calls=[{"name": name, "args": args, "id": name, "type": "tool_call"}])


def tokens(calls: Sequence[Call], *, reviews_alone: bool = False) -> int:
    """Return the tokens of calls, prompts and replies."""
    counted = [size([*prompt, reply]) for prompt, reply in calls if is_review(prompt) or not reviews_alone]
    return round(sum(counted) / CHARACTERS_PER_TOKEN)


def parts(calls: Sequence[Call]) -> dict[str, int]:
    """Return the tokens of what a loop of this package says, and one written by hand does not."""
    found = Counter(dict.fromkeys(PARTS, 0))
    for prompt, _ in calls:
        *before, last = prompt
        if is_review(prompt):
            instruction, *example = before
            found[INSTRUCTION] += size([instruction])
            found[EXAMPLE] += size(example)
            said = last.text
        else:
            said = next(message.text for message in prompt if message.type == "human")
        for paragraph in said.split("\n\n"):
            for part, beginning in PARTS.items():
                if beginning and paragraph.startswith(beginning):
                    found[part] += len(paragraph)
    return {part: round(characters / CHARACTERS_PER_TOKEN) for part, characters in found.items()}


def tables() -> str:
    """Return both tables: what each loop needs, and where the tokens go."""
    costs = ["| agent | loop | calls | tokens | for reflections |", "|---|---|---|---|---|"]
    columns = {}
    for name in WORLDS:
        for loop in LOOPS:
            calls = played(name, loop)
            notes = tokens(calls, reviews_alone=True)
            costs.append(f"| {name} | {loop} | {len(calls)} | {tokens(calls):,} | {notes:,} |")
        ours = played(name, LOOPS[0])
        difference = tokens(ours) - tokens(played(name, BY_HAND))
        known = parts(ours)
        columns[name] = known | {"the rest": difference - sum(known.values()), "together": difference}
    first, *_ = columns.values()
    shares = [f"| more than by hand | {' | '.join(columns)} |", "|---" * (1 + len(columns)) + "|"]
    rows = [[part, *(f"{column[part]:,}" for column in columns.values())] for part in first]
    return "\n".join([*costs, "", *shares, *(f"| {' | '.join(row)} |" for row in rows)])


if __name__ == "__main__":
    print(tables())
