import pytest
from langchain_core.messages import AIMessage, HumanMessage

from langgraph_reflexion import ConfigurationError
from langgraph_reflexion.models.sent import LARGEST_PICTURE, PICTURES, expect_no_files, inline_picture

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


PIXELS = "iVBORw0KGgo="
PICTURE = {"type": "image", "base64": PIXELS, "mime_type": "image/png"}


def openai(address):
    return {"type": "image_url", "image_url": address}


def nested(levels):
    value = {"url": URL}
    for _ in range(levels):
        value = [value]
    return {"type": "text", "text": value}


HOSTILE = {
    "url": {"type": "image", "url": URL},
    "path": {"type": "image", "path": "/etc/passwd"},
    "file id": {"type": "image", "file_id": "file-1"},
    "no data": {"type": "image", "mime_type": "image/png"},
    "bytes": PICTURE | {"base64": b"iVBORw0KGgo="},
    "address as data": PICTURE | {"base64": URL},
    "path as data": PICTURE | {"base64": "file:///etc/passwd"},
    "line as data": PICTURE | {"base64": f"{PIXELS}\n"},
    "empty": PICTURE | {"base64": ""},
    "too large": PICTURE | {"base64": "A" * (LARGEST_PICTURE + 1)},
    "page": PICTURE | {"mime_type": "text/html"},
    "svg": PICTURE | {"mime_type": "image/svg+xml"},
    "type with a parameter": PICTURE | {"mime_type": "image/png;url=x"},
    "types": PICTURE | {"mime_type": ["image/png"]},
    "web": openai({"url": URL}),
    "web as text": openai(URL),
    "local file": openai({"url": "file:///etc/passwd"}),
    "data of a page": openai({"url": f"data:text/html;base64,{PIXELS}"}),
    "data of an svg": openai({"url": f"data:image/svg+xml;base64,{PIXELS}"}),
    "data without base64": openai({"url": "data:image/png,abc"}),
    "data with an address": openai({"url": f"data:image/png;base64,{URL}"}),
    "twice": openai({"url": f"data:image/png;base64,data:image/png;base64,{PIXELS}"}),
    "too large data": openai({"url": "data:image/png;base64," + "A" * (LARGEST_PICTURE + 1)}),
    "nothing": openai(None),
    "a list": openai([{"url": URL}]),
    "a file": {"type": "file", "base64": PIXELS, "mime_type": "image/png"},
    "Anthropic's": {"type": "document", "source": {"type": "url", "url": URL}},
    "Bedrock's": {"document": {"source": {"s3Location": {"uri": "s3://bucket/key"}}}},
    "Google's": {"type": "other", "fileData": {"fileUri": "gs://bucket/key"}},
    "nested": nested(3),
    "deeply nested": nested(100_000),
}


@pytest.mark.parametrize("block", HOSTILE.values(), ids=HOSTILE)
def test_a_hostile_block_is_no_picture_and_is_refused_in_a_prompt(block):
    assert inline_picture(block) is None
    # As in a state that somebody else has written, which nothing has validated.
    prompt = HumanMessage.model_construct(content=[{"type": "text", "text": "Look."}, block])
    with pytest.raises(ConfigurationError, match="holds a file or its address"):
        expect_no_files([prompt])


@pytest.mark.parametrize("more", [{"url": URL}, {"path": "/etc/passwd"}, {"file_id": "1"}, {"extras": {"url": URL}}])
def test_only_the_data_of_a_picture_are_kept(more):
    assert inline_picture(PICTURE | more) == PICTURE
    with pytest.raises(ConfigurationError, match="holds a file or its address"):
        expect_no_files([HumanMessage([PICTURE | more])])


@pytest.mark.parametrize("kind", sorted(PICTURES))
def test_a_picture_in_either_form_is_sent(kind):
    picture = PICTURE | {"mime_type": kind}
    assert inline_picture(picture) == picture
    assert inline_picture(openai({"url": f"data:{kind};base64,{PIXELS}"})) == picture
    expect_no_files([HumanMessage([{"type": "text", "text": "Look."}, picture])])
