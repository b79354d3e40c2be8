"""Few-shot examples as chat turns: chat models follow what they seem to have said before."""

from collections.abc import Sequence
from typing import TypeVar

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage

from langgraph_reflexion.prompts import Prompts, ReflectionExample, quoted

_Example = TypeVar("_Example")
_Reflection = TypeVar("_Reflection")


def add_text(messages: list[BaseMessage], text: str) -> list[BaseMessage]:
    """Return messages that end with a text from the user, merged with one that comes before: roles alternate."""
    if isinstance(messages[-1], HumanMessage):
        return [*messages[:-1], HumanMessage(f"{messages[-1].text}\n\n{text}")]
    return [*messages, HumanMessage(text)]


def few_shot_reflections(
    prompts: Prompts, examples: Sequence[ReflectionExample], layout: str, *, unjudged: bool = False
) -> list[BaseMessage]:
    """Return the instruction of the self-reflection with its examples, as turns or within the instruction.

    Args:
        prompts: The templates.
        examples: The examples.
        layout: Of the profile.
        unjudged: Whether nothing could judge the trial.
    """
    as_turns = layout == "turns"
    within = () if as_turns else examples
    messages: list[BaseMessage] = [SystemMessage(prompts.render("reflect", examples=within, unjudged=unjudged))]
    for example in examples if as_turns else ():
        calls = [step for step in example.steps if step.action]
        said = [step.thought for step in example.steps if not step.action]
        answer = said[-1] if said else ""
        failed = prompts.render(
            "failed_trial",
            observation=example.observation,
            steps=example.steps,
            status=f"Status: FAILED\n{quoted(example.feedback)}".strip(),
            reflections=[],
            memory_map="",
            calls=calls,
            answer=answer,
            check=example.feedback,
            has_reason=bool(example.feedback),
            facts=[],
            again="",
            goal="",
        )
        messages += [HumanMessage(failed), AIMessage(example.reflection)]
    return messages


def left_over(
    examples: Sequence[_Example], reflections: Sequence[_Reflection], left_out: int
) -> tuple[Sequence[_Example], Sequence[_Reflection]]:
    """Return what a shorter prompt shows: the last examples are left out first, then the oldest reflections.

    Args:
        examples: The few-shot examples.
        reflections: The reflections, oldest first.
        left_out: The number of examples and reflections to leave out.
    """
    fewer = max(len(examples) - left_out, 0)
    return examples[:fewer], reflections[max(left_out - len(examples), 0) :]
