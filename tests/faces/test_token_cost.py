"""What Reflexion around an agent costs in tokens, against a loop written by hand."""

from pathlib import Path

import pytest

from tests.support.token_cost import BY_HAND, WORLDS, is_review, played, tables, tokens

PAGE = Path(__file__).parents[2] / "docs" / "howto" / "wrap-an-agent.md"


@pytest.mark.slow
@pytest.mark.parametrize("loop", ["create_reflexion", "ReflexionMiddleware"])
@pytest.mark.parametrize(("name", "most"), [("SQL", 1_200), ("pytest", 1_400)])
def test_no_call_more_than_by_hand_and_few_tokens(name, most, loop):
    ours, theirs = played(name, loop), played(name, BY_HAND)
    assert len(ours) == len(theirs)
    assert tokens(ours) - tokens(theirs) <= most


@pytest.mark.parametrize("loop", ["create_reflexion", "ReflexionMiddleware"])
@pytest.mark.parametrize("name", WORLDS)
def test_an_agent_with_tools_reads_its_task_once_in_each_call(name, loop):
    [opening, *_], _ = played(name, loop)[0]
    asked = [prompt for prompt, _ in played(name, loop) if not is_review(prompt)]
    assert ["\n".join(message.text for message in prompt).count(opening.text) for prompt in asked] == [1] * len(asked)


def test_the_page_says_what_the_command_prints():
    page = PAGE.read_text()
    for table in tables().split("\n\n"):
        assert table in page
