"""Few-shot examples as chat turns: chat models follow what they seem to have said before."""

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage

from langgraph_reflexion.prompts import Prompts


def add_text(messages: list[BaseMessage], text: str) -> list[BaseMessage]:
    """Return messages that end with a text from the user, merged with one that comes before: roles alternate."""
    if isinstance(messages[-1], HumanMessage):
        return [*messages[:-1], HumanMessage(f"{messages[-1].text}\n\n{text}")]
    return [*messages, HumanMessage(text)]


def few_shot_reflections(prompts: Prompts, layout: str) -> list[BaseMessage]:
    """Return the instruction of the self-reflection with its examples, as turns or within the instruction.

    Args:
        prompts: The domain's templates and examples.
        layout: The profile's layout.
    """
    as_turns = layout == "turns"
    messages: list[BaseMessage] = [
        SystemMessage(prompts.render("reflect", examples=() if as_turns else prompts.reflections))
    ]
    for example in prompts.reflections if as_turns else ():
        failed = prompts.render(
            "failed_trial",
            observation=example.observation,
            steps=example.steps,
            status=f"Status: FAILED\n{example.feedback}".strip(),
            reflections=[],
            memory_map="",
        )
        messages += [HumanMessage(failed), AIMessage(example.reflection)]
    return messages
