"""Feedback on answers from a file or from traces: each becomes a lesson, or is known already."""

import asyncio
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from langchain_core.runnables import RunnableConfig
from pydantic import BaseModel, ConfigDict, Field, model_validator

from langgraph_reflexion.agents.task_file import user_of
from langgraph_reflexion.errors import ConfigurationError, Fault, validated
from langgraph_reflexion.graph.learning import Learning, alearn_from, found_in_messages, reflect_of
from langgraph_reflexion.graph.served_learning import check_size
from langgraph_reflexion.models.recorded import NO_USAGE, Usage, add_usage
from langgraph_reflexion.nodes.learn import Learned
from langgraph_reflexion.support.files import read_rows
from langgraph_reflexion.support.text import count


@dataclass(frozen=True)
class AnswerFeedback:
    """What is said of one answer."""

    where: str
    """The place of its row in words."""
    messages: list[Any]
    """The conversation, which ends with the answer."""
    success: bool
    words: str
    user: str | None
    """The user whose lesson it is; everyone's without one."""
    key: str
    """What it shares with other feedback on the same conversation alone."""


class _Row(BaseModel):
    """A row: `messages`, or `question` and `answer`; further columns are left alone."""

    model_config = ConfigDict(strict=True)

    messages: list[Any] | None = None
    question: str | None = None
    answer: str | None = None
    success: bool
    words: str = Field("")

    @model_validator(mode="after")
    def _is_about_one_answer(self) -> "_Row":
        as_texts = self.question is not None and self.answer is not None
        if (self.messages is None) == (not as_texts):
            raise ValueError("has messages, or else question and answer")
        return self

    def conversation(self) -> list[Any]:
        """Return the messages."""
        if self.messages is not None:
            return self.messages
        return [{"role": "user", "content": self.question}, {"role": "assistant", "content": self.answer}]


def read_feedback(path: Path, graph: Learning, user_field: str | None = None) -> list[AnswerFeedback]:
    """Return the feedback in a file of JSON lines, or a JSON list.

    Args:
        path: The file.
        graph: What is to learn from it.
        user_field: The column, or `COLUMN.KEY`, of the user whose lesson it is.

    Raises:
        ConfigurationError: the file cannot be read, or a row is wrong; the message has its place.
    """
    return checked_feedback(read_rows(path), graph, user_field)


def checked_feedback(
    rows: Iterable[tuple[str, Mapping[str, Any]]], graph: Learning, user_field: str | None = None
) -> list[AnswerFeedback]:
    """Return the feedback in rows, each with its place in words, after all have been looked at.

    Raises:
        ConfigurationError: a row is wrong; the message has its place.
    """
    return [_feedback(row, where, graph, user_field) for where, row in rows]


def is_conversation(graph: Learning, messages: list[Any]) -> bool:
    """Return whether messages are a conversation to learn from: a question, and an answer at the end."""
    try:
        check_size(messages)
        found_in_messages(reflect_of(graph), messages, "the conversation")
    except ConfigurationError:
        return False
    return True


def names_user(row: Mapping[str, Any], user_field: str | None) -> bool:
    """Return whether a row names the user whose lesson it is, where one has to be named."""
    if not user_field:
        return True
    try:
        user_of(row, user_field, "the row")
    except ConfigurationError:
        return False
    return True


def _feedback(row: Mapping[str, Any], where: str, graph: Learning, user_field: str | None) -> AnswerFeedback:
    user = None
    if user_field:
        user = user_of(row, user_field, where)
    try:
        read = validated(_Row, row, place=_place)
        messages = read.conversation()
        check_size(messages)
        state = found_in_messages(reflect_of(graph), messages, "the conversation").state
    except ConfigurationError as error:
        what = str(error).removeprefix("learn_from: ")
        raise ConfigurationError(f"{where}: {what}") from error
    return AnswerFeedback(where, messages, read.success, read.words, user, f"{user} {state['lesson_key']}")


def _place(path: list[str]) -> str:
    return ".".join(path) or "the row"


@dataclass
class LearnedSoFar:
    """What was learned from many answers."""

    learned: int = 0
    """Lessons that are new to their trial."""
    known: int = 0
    """Answers of which the same had been said before."""
    useless: int = 0
    """Answers that taught nothing, as the model wrote nothing of use and nobody said anything."""
    usage: Usage = field(default_factory=NO_USAGE.copy)

    def add(self, learned: Learned) -> None:
        """Count one answer."""
        self.usage = add_usage(self.usage, learned["usage"])
        if not learned["new"]:
            self.known += 1
        elif learned["lesson"]:
            self.learned += 1
        else:
            self.useless += 1

    def words(self) -> str:
        """Return it in a line."""
        usage = self.usage
        spent = f"{count(usage['llm_calls'], 'model call')}"
        if usage["llm_calls"]:
            spent += f", {usage['input_tokens']:,} input and {usage['output_tokens']:,} output tokens"
        if usage["cost"]:
            spent += f", cost {usage['cost']:.4f}"
        return f"{self.learned} learned, {self.known} known already, {self.useless} useless; {spent}"


async def learn_all(
    graph: Learning,
    feedback: Iterable[AnswerFeedback],
    so_far: LearnedSoFar,
    *,
    concurrency: int = 1,
    on_learned: Callable[[], object] = lambda: None,
) -> None:
    """Learn from each answer. After a fault, the same again continues: what is known asks no model.

    Args:
        graph: A compiled graph with `Lessons` and a store.
        feedback: What is said of the answers. Of the same answer, the last counts.
        so_far: Counts what was learned, also before a fault.
        concurrency: The number of answers that are learned from at once.
        on_learned: Called after each answer.

    Raises:
        Fault: the model or the store failed; no further answer is begun.
    """
    # Only the last word on an answer is kept. If an earlier one were learned as well, it would differ from what is
    # known in the next call with the same feedback, and both would be learned again.
    last = {each.key: each for each in feedback}
    free = asyncio.Semaphore(concurrency)

    async def learn(each: AnswerFeedback) -> None:
        async with free:
            so_far.add(await _learn(graph, each))
            on_learned()

    try:
        async with asyncio.TaskGroup() as tasks:
            for each in last.values():
                tasks.create_task(learn(each))
    except BaseExceptionGroup as group:
        faults, others = group.split(Fault)
        if faults is None or others is not None:
            raise
        # They have the same cause, and one line is enough.
        raise faults.exceptions[0] from group


async def _learn(graph: Learning, each: AnswerFeedback) -> Learned:
    config: RunnableConfig = {}
    if each.user is not None:
        config = {"configurable": {"user_id": each.user}}
    return await alearn_from(graph, config, messages=each.messages, success=each.success, words=each.words)
