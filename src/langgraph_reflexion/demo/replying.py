"""How the demo model says what it does next: as text, or as a tool call."""

from langchain_core.messages import AIMessage

from langgraph_reflexion.demo.transcript import Prompt


def reply(prompt: Prompt, thought: str, action: str, name: str, args: dict[str, str], *, in_text: bool) -> AIMessage:
    """The next step.

    Args:
        prompt: What it answers.
        thought: Why it does what it does.
        action: The action as text.
        name: The action as a tool.
        args: The tool's arguments.
        in_text: Whether actions are written as text; otherwise they are tool calls.
    """
    if prompt.cue:
        return AIMessage(thought if prompt.cue == "Thought" else action)
    if in_text:
        return AIMessage(f"Thought: {thought}\nAction: {action}")
    call = {"name": name, "args": args, "id": f"demo_{len(prompt.turns)}", "type": "tool_call"}
    return AIMessage(thought, tool_calls=[call])
