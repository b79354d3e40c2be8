"""Measure two judges of criteria in words, `Rubric` and deepagents' `RubricMiddleware`, with one model.

    pip install deepagents
    python docs/experiments/rubric_judges.py answers            # record the model's answers to 45 tasks
    python docs/experiments/rubric_judges.py judge rubric       # and `judge middleware`
    python docs/experiments/rubric_judges.py solve rubric       # and `solve middleware`: 30 other tasks
    python docs/experiments/rubric_judges.py table

`--base-url` and `--model` say which model answers and judges; without an address, it is OpenAI's, with the key in
OPENAI_API_KEY. Every step writes a row for each task to `--out`, and skips those that are there: a run that was
stopped continues. A judge is one of

* `rubric`: `Rubric`, as the evaluator of a graph;
* `middleware`: the grader of `RubricMiddleware`, in an agent that replays the answer, with the schema of its reply as
  the request's `response_format`, which llama.cpp turns into a grammar;
* `middleware-tools`: the same with the schema as a tool that the model has to call, which is what the package does
  with a model of which LangChain knows no structured output.

Both models say that they have structured output. What a judge's requests really held is in the table, as counted on
the wire with calls and tokens: `json_schema`, `tools` or `text`.
"""

import argparse
import asyncio
import json
import logging
import os
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
from deepagents.middleware.rubric import RubricMiddleware
from langchain.agents import create_agent
from langchain_openai import ChatOpenAI
from rubric_tasks import JUDGED, SOLVED, Criterion, Task

from langgraph_reflexion import create_reflexion
from langgraph_reflexion.evaluators.rubric import Rubric
from langgraph_reflexion.lab.experiments.statistics import format_p, interval, sign_test
from langgraph_reflexion.testing import ScriptedChatModel

JUDGES = ("rubric", "middleware", "middleware-tools")

MOST_SAMPLES = 4
"""Replies to a task that are asked for at most."""

ANSWER_TOKENS = 150
JUDGE_TOKENS = 400
SECONDS = 1800.0

MOST_JUDGE_CALLS = 4
"""For one verdict. Both judges ask again once about what a reply leaves out."""

TRIALS = 3
"""Of the loop with `Rubric`: with a verdict on each, and reflections between them, that is 8 calls."""

ITERATIONS = 4
"""Of RubricMiddleware: with a verdict on each, that is 8 calls, too."""

CALLS = 8
"""The calls of a task, unless a judge asks again about what its first reply leaves out."""

MOST_CALLS = 16
"""Of a task's agent, and of its judge: a stop for a judge that gets no usable reply."""

Row = dict[str, Any]
Verdict = bool | None
"""Whether a judge says that a criterion is met; None if it does not say."""


# The model


@dataclass
class Wire:
    """Counts the requests to the model's server, and what is in them.

    A grader that gets no usable reply asks again and again: what is above `most` calls is not sent, but an error.
    """

    most: int
    calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    forms: Counter[str] = field(default_factory=Counter)
    """How a request asks for the form of the reply: `json_schema`, `tools` or `text`."""

    async def admit(self, request: httpx.Request) -> None:
        """Refuse a request above the limit."""
        if self.calls >= self.most:
            raise RuntimeError(f"more than {self.most} calls")
        self.calls += 1
        self.forms[form_of(json.loads(request.content))] += 1

    async def count(self, response: httpx.Response) -> None:
        """Count the tokens of a response."""
        await response.aread()
        if response.status_code != 200:
            return
        usage = response.json().get("usage") or {}
        self.prompt_tokens += usage.get("prompt_tokens", 0)
        self.completion_tokens += usage.get("completion_tokens", 0)

    def add(self, other: "Wire") -> None:
        """Add the counts of another."""
        self.calls += other.calls
        self.prompt_tokens += other.prompt_tokens
        self.completion_tokens += other.completion_tokens
        self.forms.update(other.forms)

    def row(self) -> Row:
        """Return the counts."""
        return {
            "calls": self.calls,
            "prompt_tokens": self.prompt_tokens,
            "completion_tokens": self.completion_tokens,
            "forms": dict(self.forms),
        }


def form_of(body: Row) -> str:
    """Return how a request asks for the form of the reply."""
    if body.get("response_format"):
        return str(body["response_format"]["type"])
    if body.get("tools"):
        return "tools"
    return "text"


@dataclass(frozen=True)
class Server:
    """The address and name of the model, which both answers and judges."""

    base_url: str | None
    model: str
    at_once: int = 1
    """Tasks that are in flight at the same time."""

    def chat_model(self, wire: Wire, **options: Any) -> ChatOpenAI:
        """Return the model, whose requests are counted."""
        hooks = {"request": [wire.admit], "response": [wire.count]}
        client = httpx.AsyncClient(timeout=SECONDS, event_hooks=hooks)
        key = os.environ.get("OPENAI_API_KEY", "none")
        return ChatOpenAI(
            model=self.model,
            base_url=self.base_url,
            api_key=lambda: key,
            http_async_client=client,
            max_retries=0,
            timeout=SECONDS,
            disable_streaming=True,
            **options,
        )

    def judge(self, name: str, wire: Wire) -> ChatOpenAI:
        """Return the model that judges."""
        structured = name != "middleware-tools"
        profile: Any = {"structured_output": structured}
        return self.chat_model(wire, temperature=0, max_completion_tokens=JUDGE_TOKENS, profile=profile)

    def actor(self, wire: Wire, seed: int) -> ChatOpenAI:
        """Return the model that answers."""
        return self.chat_model(wire, temperature=0.9, max_completion_tokens=ANSWER_TOKENS, seed=seed)


# The answers


async def record_answers(task: Task, server: Server) -> Row:
    """Return two different answers to a task with the truth about each criterion, or one if all are the same.

    The first is the model's own. After a wrong one, the model is told all criteria, so that there are right answers,
    too: the second is the first right one that comes then, or else the last.
    """
    actor = server.actor(Wire(MOST_SAMPLES), seed=0)
    first = await actor.ainvoke([("user", task.text)])
    answers = [first.text]
    asked = task.text
    if not all(task.truth(first.text)):
        asked = told(task)
    for seed in range(1, MOST_SAMPLES):
        reply = await server.actor(Wire(MOST_SAMPLES), seed).ainvoke([("user", asked)])
        if reply.text == first.text:
            continue
        answers = [first.text, reply.text]
        if asked == task.text or all(task.truth(reply.text)):
            break
    recorded = [{"answer": answer, "truth": task.truth(answer)} for answer in answers]
    return {"task": task.name, "answers": recorded}


def told(task: Task) -> str:
    """Return a task with all its criteria."""
    lines = [f"- {criterion.words}" for criterion in task.criteria]
    return "\n".join([task.text, "", "The answer has to meet all of these:", *lines])


# The judges


@dataclass
class Judgement:
    """What a judge says of an answer."""

    accepted: bool
    verdicts: list[Verdict]
    error: str = ""
    """Why there is no judgement: an exception, a reply that cannot be read, or a refusal to judge."""


async def judge_with_rubric(task: Task, answer: str, judge: ChatOpenAI) -> Judgement:
    """Judge an answer by `Rubric`, as the evaluator of a graph whose agent gives it."""
    rubric = Rubric([criterion.words for criterion in task.criteria], model=judge)
    graph = create_reflexion(actor=lambda messages: answer, evaluator=rubric, strategy="retry", max_trials=1)
    try:
        final = await graph.compile().ainvoke({"messages": [("user", task.text)]})
    except Exception as error:
        return failed(task, type(error).__name__)
    evaluation = final.get("evaluation")
    if not evaluation:
        return failed(task, str(final["status"]))
    verdicts = verdicts_in(evaluation["feedback"], task.criteria, evaluation["success"])
    if all(verdict is None for verdict in verdicts):
        return failed(task, "no verdict")
    return Judgement(bool(evaluation["success"]), verdicts)


def verdicts_in(feedback: str, criteria: Sequence[Criterion], accepted: bool) -> list[Verdict]:
    """Return the verdict on each criterion, as the sections of `Rubric`'s feedback say it."""
    if accepted:
        return [True] * len(criteria)
    sections: dict[str, list[str]] = {"Not met:": [], "Met, and to be kept so:": []}
    current: list[str] = []
    for line in feedback.splitlines():
        if line.startswith("- "):
            current.append(line.removeprefix("- "))
        elif line:
            current = sections.get(line, [])
    verdicts: list[Verdict] = []
    for criterion in criteria:
        if criterion.words in sections["Met, and to be kept so:"]:
            verdicts.append(True)
        elif any(line.startswith(criterion.words) for line in sections["Not met:"]):
            verdicts.append(False)
        else:
            verdicts.append(None)
    return verdicts


async def judge_with_middleware(task: Task, answer: str, judge: ChatOpenAI) -> Judgement:
    """Judge an answer by the grader of RubricMiddleware, in an agent that replays it."""
    evaluations: list[Any] = []
    middleware = RubricMiddleware(model=judge, max_iterations=1, on_evaluation=evaluations.append)
    agent = create_agent(ScriptedChatModel(replies=[answer]), tools=[], middleware=[middleware])
    await agent.ainvoke({"messages": [("user", task.text)], "rubric": as_text(task.criteria)})
    [evaluation] = evaluations
    if evaluation["result"] == "grader_error":
        return failed(task, evaluation["explanation"].split(" (")[0])
    if evaluation["result"] == "failed":
        return failed(task, "the rubric cannot be judged")
    verdicts = matched(evaluation["criteria"], task.criteria)
    return Judgement(evaluation["result"] == "satisfied", verdicts)


def matched(graded: Sequence[Row], criteria: Sequence[Criterion]) -> list[Verdict]:
    """Return the verdict on each criterion: that of its name, or of its place if there are as many as criteria."""
    by_name = {normal(entry["name"]): bool(entry["passed"]) for entry in graded}
    verdicts: list[Verdict] = []
    for place, criterion in enumerate(criteria):
        verdict = by_name.get(normal(criterion.words))
        if verdict is None and len(graded) == len(criteria):
            verdict = bool(graded[place]["passed"])
        verdicts.append(verdict)
    return verdicts


def normal(name: str) -> str:
    """Return a criterion's name for a comparison: letters and digits."""
    return "".join(character for character in name.lower() if character.isalnum())


def as_text(criteria: Sequence[Criterion]) -> str:
    """Return a rubric as a list."""
    return "\n".join(f"- {criterion.words}" for criterion in criteria)


def failed(task: Task, error: str) -> Judgement:
    """Return a judgement that was none: nothing is accepted, and no criterion is judged."""
    return Judgement(False, [None] * len(task.criteria), error)


async def judge_answers(row: Row, name: str, server: Server) -> Row:
    """Judge the recorded answers to a task."""
    task = next(each for each in JUDGED if each.name == row["task"])
    judge_with = judge_with_middleware
    if name == "rubric":
        judge_with = judge_with_rubric
    total = Wire(0)
    judged = []
    for recorded in row["answers"]:
        wire = Wire(MOST_JUDGE_CALLS)
        judgement = await judge_with(task, recorded["answer"], server.judge(name, wire))
        total.add(wire)
        judged.append(
            {
                "truth": recorded["truth"],
                "verdicts": judgement.verdicts,
                "accepted": judgement.accepted,
                "error": judgement.error,
            }
        )
    return {"task": task.name, "judged": judged, "wire": total.row()}


# The tasks to solve


async def solve(task: Task, name: str, server: Server) -> Row:
    """Let an agent solve a task with a judge; the truth about its first and last answer."""
    actor_wire = Wire(MOST_CALLS)
    judge_wire = Wire(MOST_CALLS)
    agent_model = server.actor(actor_wire, seed=1)
    judge = server.judge(name, judge_wire)
    if name == "rubric":
        answers, accepted, error = await solve_with_rubric(task, agent_model, judge)
    else:
        answers, accepted, error = await solve_with_middleware(task, agent_model, judge)
    total = Wire(0)
    total.add(actor_wire)
    total.add(judge_wire)
    return {
        "task": task.name,
        "first": all(task.truth(answers[0])),
        "solved": all(task.truth(answers[-1])),
        "accepted": accepted,
        "error": error,
        "answers": answers,
        "wire": total.row(),
    }


async def solve_with_rubric(task: Task, model: ChatOpenAI, judge: ChatOpenAI) -> tuple[list[str], bool, str]:
    """Return the answers of the trials, whether the last one was accepted, and why the task was given up."""
    answers: list[str] = []
    agent = create_agent(model, tools=[])

    async def keep_answer(state: Row) -> Row:
        final = await agent.ainvoke(state)
        answers.append(final["messages"][-1].text)
        return final

    rubric = Rubric([criterion.words for criterion in task.criteria], model=judge)
    graph = create_reflexion(actor=keep_answer, evaluator=rubric, model=model, max_trials=TRIALS).compile()
    final = await graph.ainvoke({"messages": [("user", task.text)]})
    return answers, final["status"] == "solved", ""


async def solve_with_middleware(task: Task, model: ChatOpenAI, judge: ChatOpenAI) -> tuple[list[str], bool, str]:
    """Return the agent's answers, whether the last one was accepted, and an error of the grader."""
    evaluations: list[Any] = []
    middleware = RubricMiddleware(model=judge, max_iterations=ITERATIONS, on_evaluation=evaluations.append)
    agent = create_agent(model, tools=[], middleware=[middleware])
    final = await agent.ainvoke({"messages": [("user", task.text)], "rubric": as_text(task.criteria)})
    answers = [message.text for message in final["messages"] if message.type == "ai"]
    result = evaluations[-1]["result"]
    error = ""
    if result in ("grader_error", "failed"):
        error = evaluations[-1]["explanation"].split(" (")[0]
    return answers, result == "satisfied", error


# The rows


def read_rows(path: Path) -> list[Row]:
    """Return the rows of a file; none if it does not exist."""
    if not path.exists():
        return []
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


async def write_rows(
    path: Path, names: Sequence[str], make: Callable[[str], Awaitable[Row]], at_once: int
) -> list[Row]:
    """Write a row for each task that has none yet, some of them at once, and return all rows."""
    path.parent.mkdir(parents=True, exist_ok=True)
    done = {row["task"] for row in read_rows(path)}
    room = asyncio.Semaphore(at_once)

    async def write(number: int, name: str) -> None:
        async with room:
            row = await make(name)
        with path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(row, ensure_ascii=False) + "\n")
        print(f"{number} of {len(names)}: {name}", flush=True)

    left = [write(number, name) for number, name in enumerate(names, 1) if name not in done]
    await asyncio.gather(*left)
    return read_rows(path)


async def answers_step(folder: Path, server: Server) -> None:
    """Record the answers, and print how many are right."""
    tasks = {task.name: task for task in JUDGED}

    async def answers_to(name: str) -> Row:
        return await record_answers(tasks[name], server)

    rows = await write_rows(folder / "answers.jsonl", list(tasks), answers_to, server.at_once)
    truths = [all(recorded["truth"]) for row in rows for recorded in row["answers"]]
    print(f"{len(truths)} answers: {sum(truths)} right, {len(truths) - sum(truths)} wrong")


async def judge_step(folder: Path, name: str, server: Server) -> None:
    """Let a judge judge the recorded answers."""
    recorded = {row["task"]: row for row in read_rows(folder / "answers.jsonl")}
    if not recorded:
        raise SystemExit(f"There are no answers in {folder}: record them first, by the step answers.")
    path = folder / f"judge-{name}.jsonl"

    async def judged(task: str) -> Row:
        return await judge_answers(recorded[task], name, server)

    await write_rows(path, list(recorded), judged, server.at_once)


async def solve_step(folder: Path, name: str, server: Server) -> None:
    """Let an agent solve the tasks with a judge."""
    tasks = {task.name: task for task in SOLVED}
    path = folder / f"solve-{name}.jsonl"

    async def solved(task: str) -> Row:
        return await solve(tasks[task], name, server)

    await write_rows(path, list(tasks), solved, server.at_once)


# The tables


def tables(folder: Path) -> list[str]:
    """Return the lines of both tables, with the tests below them."""
    judged, solved = {}, {}
    for name in JUDGES:
        judged[name] = read_rows(folder / f"judge-{name}.jsonl")
        solved[name] = read_rows(folder / f"solve-{name}.jsonl")
    lines = [
        "| judge | requests | answers | grader errors | criteria judged rightly | 95% interval | no verdict "
        "| right accepted | right rejected | wrong accepted | wrong rejected | calls | tokens in | tokens out |",
        "|---" * 14 + "|",
    ]
    for name, rows in judged.items():
        if rows:
            lines.append(judged_line(name, rows))
    lines += ["", "Criteria and verdicts are those of answers without a grader error.", ""]
    for name, rows in judged.items():
        errors = Counter(each["error"] for row in rows for each in row["judged"] if each["error"])
        if errors:
            lines.append(f"Grader errors of {name}: {shown_counts(errors)}.")
    for first, second in pairs(judged):
        lines.append(judged_test(first, second, judged[first], judged[second], with_errors=False))
        lines.append(judged_test(first, second, judged[first], judged[second], with_errors=True))
    lines += [
        "",
        "| judge | tasks | right at first | solved | 95% interval | accepted | accepted and wrong | grader errors "
        f"| more than {CALLS} calls | calls | tokens in | tokens out |",
        "|---" * 12 + "|",
    ]
    for name, rows in solved.items():
        if rows:
            lines.append(solved_line(name, rows))
    lines.append("")
    for first, second in pairs(solved):
        lines.append(solved_test(first, second, solved[first], solved[second]))
    return lines


def pairs(rows: dict[str, list[Row]]) -> list[tuple[str, str]]:
    """Return `rubric` with each other judge, of those that have rows."""
    if not rows["rubric"]:
        return []
    return [("rubric", name) for name in JUDGES[1:] if rows[name]]


def judged_line(name: str, rows: Sequence[Row]) -> str:
    """Return a judge's line of the first table."""
    rightly: dict[str, list[bool]] = {}
    outcomes: Counter[tuple[bool, bool]] = Counter()
    errors, open_verdicts, answers = 0, 0, 0
    for row in rows:
        for each in row["judged"]:
            answers += 1
            if each["error"]:
                errors += 1
                continue
            rightly.setdefault(row["task"], []).extend(judged_rightly(each))
            open_verdicts += each["verdicts"].count(None)
            outcomes[all(each["truth"]), each["accepted"]] += 1
    cells = [name, forms_of(rows), answers, errors, share_of(rightly), interval_of(rightly), open_verdicts]
    cells += [outcomes[True, True], outcomes[True, False], outcomes[False, True], outcomes[False, False]]
    return as_line(cells + counts_of(rows))


def judged_rightly(judged: Row) -> list[bool]:
    """Return for each criterion whether the judge's verdict is the truth; no verdict is not."""
    pairs_of = zip(judged["verdicts"], judged["truth"], strict=True)
    return [verdict == truth for verdict, truth in pairs_of]


def judged_test(first: str, second: str, some: Sequence[Row], others: Sequence[Row], *, with_errors: bool) -> str:
    """Return the sign test over tasks of who judges more criteria rightly.

    An answer on which either judge made an error counts if `with_errors`, and then nothing is judged rightly.
    """
    by_task = {row["task"]: row["judged"] for row in others}
    differences = []
    for row in some:
        difference = 0
        for one, other in zip(row["judged"], by_task.get(row["task"], []), strict=False):
            if with_errors or not (one["error"] or other["error"]):
                difference += sum(judged_rightly(one)) - sum(judged_rightly(other))
        differences.append(difference)
    test = sign_test(differences)
    words = "answers that both judged"
    if with_errors:
        words = "all answers, where an error judges nothing rightly"
    return (
        f"{first} against {second}, {words}: more criteria judged rightly on {test.wins} tasks, "
        f"fewer on {test.losses} (sign test, p = {format_p(test.p)})."
    )


def solved_line(name: str, rows: Sequence[Row]) -> str:
    """Return a judge's line of the second table."""
    solved = {row["task"]: [row["solved"]] for row in rows}
    cells = [name, len(rows), sum(row["first"] for row in rows), share_of(solved), interval_of(solved)]
    cells.append(sum(row["accepted"] for row in rows))
    cells.append(sum(row["accepted"] and not row["solved"] for row in rows))
    cells.append(sum(bool(row["error"]) for row in rows))
    cells.append(sum(row["wire"]["calls"] > CALLS for row in rows))
    return as_line(cells + counts_of(rows))


def solved_test(first: str, second: str, some: Sequence[Row], others: Sequence[Row]) -> str:
    """Return McNemar's exact test of the tasks that both judges' agents played."""
    by_task = {row["task"]: row["solved"] for row in others}
    differences = []
    for row in some:
        if row["task"] in by_task:
            differences.append(int(row["solved"]) - int(by_task[row["task"]]))
    test = sign_test(differences)
    return (
        f"{first} against {second}: {test.wins} tasks solved with the first alone, {test.losses} with the second "
        f"alone (McNemar, p = {format_p(test.p)})."
    )


def share_of(rightly: dict[str, list[bool]]) -> str:
    """Return a share as counts and per cent."""
    of = sum(len(each) for each in rightly.values())
    if not of:
        return "0 of 0"
    right = sum(sum(each) for each in rightly.values())
    return f"{right} of {of}, {100 * right / of:.0f}%"


def interval_of(rightly: dict[str, list[bool]]) -> str:
    """Return Wilson's interval in per cent, in which a task's answers are a cluster."""
    found = interval(rightly)
    if found is None:
        return ""
    return f"{100 * found.low:.0f} to {100 * found.high:.0f}%"


def forms_of(rows: Sequence[Row]) -> str:
    """Return how the requests asked for the form of the reply."""
    forms: Counter[str] = Counter()
    for row in rows:
        forms.update(row["wire"]["forms"])
    return shown_counts(forms)


def shown_counts(counts: Counter[str]) -> str:
    """Return counts in words, most first."""
    return ", ".join(f"{name} {count}" for name, count in counts.most_common())


def counts_of(rows: Sequence[Row]) -> list[Any]:
    """Return the sums of calls and tokens."""
    return [sum(row["wire"][name] for row in rows) for name in ("calls", "prompt_tokens", "completion_tokens")]


def as_line(cells: Sequence[Any]) -> str:
    """Return a line of a table."""
    return "| " + " | ".join(str(cell) for cell in cells) + " |"


def read_arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description="Measure two judges of criteria in words.")
    parser.add_argument("step", choices=["answers", "judge", "solve", "table"])
    parser.add_argument("judge", nargs="?", choices=JUDGES, default="rubric")
    parser.add_argument("--out", type=Path, default=Path("runs/rubric_judges"), help="the folder of the rows")
    parser.add_argument("--base-url", help="the address of the model's server, which ends in /v1")
    parser.add_argument("--model", default="gpt-4o-mini")
    parser.add_argument("--at-once", type=int, default=1, help="tasks that are in flight at the same time")
    return parser.parse_args()


def main() -> None:
    """Do a step."""
    given = read_arguments()
    # An error of the grader is a row's, and needs no traceback.
    logging.getLogger("deepagents").setLevel(logging.CRITICAL)
    server = Server(given.base_url, given.model, given.at_once)
    if given.step == "answers":
        asyncio.run(answers_step(given.out, server))
    elif given.step == "judge":
        asyncio.run(judge_step(given.out, given.judge, server))
    elif given.step == "solve":
        asyncio.run(solve_step(given.out, given.judge, server))
    else:
        print("\n".join(tables(given.out)))


if __name__ == "__main__":
    main()
