"""Lessons that were exported as an Agent Skill, read by a deep agent."""

import pytest
from deepagents import create_deep_agent
from deepagents.backends import FilesystemBackend
from langchain_core.messages import ToolMessage
from langgraph.store.memory import InMemoryStore

from langgraph_reflexion.memory.markdown import write_agents_md, write_skill
from langgraph_reflexion.memory.store import LessonStore
from langgraph_reflexion.testing import ScriptedChatModel
from tests.support.composing import call
from tests.support.lessons import source

pytestmark = pytest.mark.slow

LEFT = "Go left at the mill."


@pytest.fixture
async def lessons():
    store = LessonStore(InMemoryStore(), "house")
    await store.add([source(LEFT)])
    return await store.snapshot()


def prompt(model, number):
    return "\n".join(message.text for message in model.prompts[number])


async def test_a_deep_agent_is_told_of_the_skill_and_reads_its_lessons(lessons, tmp_path):
    write_skill(lessons, "house", tmp_path / "skills" / "house-lessons")
    read = call("read_file", file_path="/skills/house-lessons/SKILL.md")
    model = ScriptedChatModel(replies=[read, "I go left."])
    agent = create_deep_agent(
        model, skills=["/skills/"], backend=FilesystemBackend(root_dir=tmp_path, virtual_mode=True)
    )
    final = await agent.ainvoke({"messages": [("human", "The way to the ford?")]})
    assert "Lessons from earlier tasks of house" in prompt(model, 0)
    [result] = [message for message in final["messages"] if isinstance(message, ToolMessage)]
    assert f'1 source, not recalled yet] "{LEFT}"' in result.text


async def test_a_deep_agent_has_the_block_of_agents_md_in_its_prompt(lessons, tmp_path):
    write_agents_md(lessons, tmp_path / "AGENTS.md")
    model = ScriptedChatModel(replies=["I go left."])
    backend = FilesystemBackend(root_dir=tmp_path, virtual_mode=True)
    agent = create_deep_agent(model, memory=["/AGENTS.md"], backend=backend)
    await agent.ainvoke({"messages": [("human", "The way to the ford?")]})
    assert f'1 source, not recalled yet] "{LEFT}"' in prompt(model, 0)
