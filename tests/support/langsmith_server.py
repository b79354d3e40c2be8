"""A server that takes what LangSmith's client sends."""

import json
import threading
from contextlib import contextmanager
from uuid import uuid4

from langchain_core.tracers import LangChainTracer
from langsmith import Client

from tests.support.loopback import Answer, Listener

INGEST = {
    "use_multipart_endpoint": False,
    "size_limit": 100,
    "size_limit_bytes": 1_000_000,
    "scale_up_nthreads_limit": 2,
    "scale_up_qsize_trigger": 1_000,
}
"""How the server wants runs: as JSON."""


@contextmanager
def langsmith(broken=False):
    """A server that takes what LangSmith's client sends: its tracer, what it got, and whether that was the last."""
    got, project, last = {"runs": {}, "feedback": []}, str(uuid4()), threading.Event()
    session = {"id": project, "name": "test", "tenant_id": project, "reference_dataset_id": None}

    def answer(call):
        if call.path.endswith("/info"):
            return Answer(json.dumps({"version": "0.12.0", "batch_ingest_config": INGEST}).encode())
        if "/sessions" in call.path:
            return Answer(json.dumps([session]).encode())
        if call.path.endswith("/runs/batch"):
            sent = json.loads(call.content)
            for run in [*sent.get("post", []), *sent.get("patch", [])]:
                got["runs"].setdefault(run["id"], {}).update(run)
        elif call.path.endswith("/feedback"):
            got["feedback"].append(json.loads(call.content))
            if broken or got["feedback"][-1]["key"] == "trials":
                last.set()
            return Answer(b"no", 422) if broken else Answer(b"{}")
        return Answer(b"{}")

    server = Listener(0, answer)
    client = Client(api_url=server.url, api_key="none")
    try:
        yield LangChainTracer(client=client, project_name="test"), got, last
    finally:
        client.cleanup()
        server.close()
