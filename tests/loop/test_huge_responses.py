"""A model's server whose response grows without end: a fault, and no gigabyte in this process."""

import gzip
import json
import resource

import pytest

from langgraph_reflexion.errors import ModelFault
from langgraph_reflexion.models.connections import bounded_connections
from langgraph_reflexion.models.faults import to_fault
from langgraph_reflexion.models.load import load_model
from tests.support.loopback import Answer, Listener

pytestmark = pytest.mark.slow

SPACES = b" " * (200 << 20)
COMPLETION = {
    "id": "1",
    "object": "chat.completion",
    "created": 1,
    "model": "any",
    "choices": [{"index": 0, "message": {"role": "assistant", "content": "Hello."}, "finish_reason": "stop"}],
    "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
}
BODY = json.dumps(COMPLETION).encode()


def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10


async def ask(answer):
    seen = []

    def answering(call):
        seen.append(call.headers)
        return answer

    listener = Listener(0, answering)
    try:
        async with bounded_connections() as connections:
            model = load_model("openai:any", base_url=f"{listener.url}/v1", http_async_client=connections)
            model.streaming = False
            reply = await model.ainvoke("Hello?")
    except Exception as error:
        # As the loop reads it; some versions of the client wrap the fault.
        raise to_fault(error, ()) from error
    finally:
        listener.close()
    return reply.text, seen


@pytest.fixture(scope="module")
def bomb():
    return gzip.compress(BODY + SPACES, compresslevel=1)


@pytest.mark.parametrize("encoding", ["gzip", "gzip, gzip", "GZIP"])
async def test_a_gzip_bomb_is_a_fault(encoding, bomb):
    packed = gzip.compress(bomb) if "," in encoding else bomb
    before = peak()
    with pytest.raises(ModelFault, match="is packed"):
        await ask(Answer(packed, headers={"Content-Encoding": encoding}))
    assert peak() - before < 50 << 20


async def test_a_huge_response_is_a_fault():
    with pytest.raises(ModelFault, match="of which at most 67108864 are read"):
        await ask(Answer(BODY + SPACES))


async def test_an_ordinary_response_is_read_packed_or_not():
    said, seen = await ask(Answer(BODY))
    assert said == "Hello."
    assert seen[0]["accept-encoding"] == "identity"
    said, _ = await ask(Answer(gzip.compress(BODY), headers={"Content-Encoding": "gzip"}))
    assert said == "Hello."
