import pytest
from langchain_core.messages import AIMessage

from langgraph_reflexion import ConfigurationError
from langgraph_reflexion.models.sent import expect_no_files

URL = "https://example.com/page"


@pytest.mark.parametrize(
    "block",
    [
        {"type": "text", "text": "So it says.", "annotations": [{"type": "url_citation", "url": URL}]},
        {"type": "tool_use", "id": "1", "name": "open", "input": {"url": URL, "path": "/srv"}},
        {"type": "thinking", "thinking": "Hm."},
    ],
)
def test_an_address_that_is_only_written_is_sent_back(block):
    expect_no_files([AIMessage([block])])


def test_an_address_of_a_file_is_not():
    with pytest.raises(ConfigurationError, match="holds a file or its address"):
        expect_no_files([AIMessage([{"type": "image_url", "image_url": {"url": URL}}])])
