"""A graph under LangSmith's `evaluate`, offline."""

from typing import Any
from uuid import UUID

import pytest
from langsmith import Client, evaluate
from langsmith.schemas import Example

from tests.support.composing import TASK, Guessing


@pytest.mark.filterwarnings("ignore:'upload_results' parameter is in beta")
def test_langsmith_evaluates_a_graph_offline(caplog: pytest.LogCaptureFixture) -> None:
    graph = Guessing().graph().compile()
    examples = [Example(id=UUID(int=1), inputs={"task": TASK}, outputs={"result": "It is 3."})]

    def solve(inputs: dict[str, Any]) -> dict[str, Any]:
        final = graph.invoke(inputs)
        return {"result": final["result"], "trials": len(final["trials"])}

    def correct(outputs: dict[str, Any], reference_outputs: dict[str, Any]) -> bool:
        return bool(outputs["result"] == reference_outputs["result"])

    client = Client(api_url="http://127.0.0.1:9", api_key="none", tracing_sampling_rate=0.0, info={})
    [row] = evaluate(solve, data=examples, evaluators=[correct], upload_results=False, client=client)
    assert row["run"].outputs == {"result": "It is 3.", "trials": 3}
    assert [(each.key, each.score) for each in row["evaluation_results"]["results"]] == [("correct", True)]
    assert "feedback" not in caplog.text, "nothing is sent"
