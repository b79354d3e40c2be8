"""The judges of openevals by name: its prompts, put to the model that reflects."""

from string import Formatter
from typing import Any

from langchain_core.exceptions import OutputParserException
from langchain_core.language_models import BaseChatModel
from langchain_core.runnables import RunnableConfig

from langgraph_reflexion.envs.base import Task
from langgraph_reflexion.errors import ConfigurationError, ModelFault
from langgraph_reflexion.evaluators.base import Evaluator, Score, expect_reference, reference_of, result_in
from langgraph_reflexion.evaluators.function import to_score
from langgraph_reflexion.models.client import Client
from langgraph_reflexion.state import ReflexionState
from langgraph_reflexion.tracing import ambient

JUDGES = {
    "openevals:correctness": "CORRECTNESS_PROMPT",
    "openevals:conciseness": "CONCISENESS_PROMPT",
    "openevals:answer_relevance": "ANSWER_RELEVANCE_PROMPT",
    "openevals:code_correctness": "CODE_CORRECTNESS_PROMPT",
    "openevals:helpfulness": "RAG_HELPFULNESS_PROMPT",
}
"""The judges by name, with their prompts in `openevals.prompts`: those that say yes to a good result, and need only
the task, the result and the reference answer."""


class OpenevalsJudge(Evaluator):
    """A judge of openevals: it accepts or refuses a wrapped agent's result, and its reasons are the feedback.

    Args:
        name: One of `JUDGES`.
        client: The model that judges.

    Raises:
        ConfigurationError: openevals is missing, or has no such judge.
    """

    def __init__(self, name: str, client: Client) -> None:
        try:
            from openevals import prompts
        except ImportError as error:
            raise ConfigurationError(f"evaluator={name!r} needs openevals: pip install openevals") from error
        if not isinstance(prompt := getattr(prompts, JUDGES[name], None), str):
            raise ConfigurationError(f"evaluator={name!r}: this version of openevals has no {JUDGES[name]}")
        self.name = name
        self.client = client
        self.prompt = prompt
        self.compares = "reference_outputs" in {field for _, field, _, _ in Formatter().parse(prompt)}

    async def prepare(self, task: Task, config: RunnableConfig) -> dict[str, Any]:
        """Expect a reference answer if the judge compares with it.

        Raises:
            ConfigurationError: the task has none.
        """
        return expect_reference(task, repr(self.name)) if self.compares else {}

    async def evaluate(self, state: ReflexionState, config: RunnableConfig) -> Score:
        from openevals import create_async_llm_as_judge

        subjects = {
            "inputs": state["task"]["instruction"],
            "outputs": result_in(state),
            "reference_outputs": reference_of(state["task"]),
        }
        if subjects["outputs"] in (None, ""):
            return Score(0.0, "Nothing was returned.")

        async def judge(model: BaseChatModel, counting: RunnableConfig) -> Score:
            ask = create_async_llm_as_judge(prompt=self.prompt, feedback_key=self.name, judge=model)
            try:
                with ambient(counting):
                    return to_score(await ask(**subjects))
            # What openevals makes of a reply without a score.
            except (ConfigurationError, KeyError, OutputParserException, TypeError) as error:
                raise ModelFault(f"the judge gave no score: {type(error).__name__}: {error}") from error

        return await self.client.lend(judge, config)
