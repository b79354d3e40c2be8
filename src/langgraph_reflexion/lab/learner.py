"""A graph that only learns: for commands, which have a model and a store, and no agent."""

from langchain_core.language_models import BaseChatModel

from langgraph_reflexion.envs import ENVIRONMENTS
from langgraph_reflexion.graph.reflexion import ReflexionGraph, create_reflexion
from langgraph_reflexion.memory.lessons import Lessons
from langgraph_reflexion.memory.store import LIMIT
from langgraph_reflexion.models.options import ModelOptions


def learner(
    model: BaseChatModel | str,
    environment: str,
    *,
    user: str | None = None,
    limit: int | None = None,
    review: bool = False,
    options: ModelOptions | None = None,
) -> ReflexionGraph:
    """Return a graph whose lessons are those of an environment in a store; it is compiled with that store.

    Args:
        model: Writes the lessons.
        environment: The name under which they are kept: an environment that ships, or else an agent's.
        user: The user whose lessons they are; `user_id` of the config unless given.
        limit: The number of lessons at most; that of `Lessons` unless given.
        review: Whether new lessons wait for a person.
        options: How the model is called.
    """
    if limit is None:
        limit = LIMIT
    lessons = Lessons(environment=environment, user=user, review=review, limit=limit)
    # An environment has prompts and examples of its own, by which its lessons are written.
    if environment in ENVIRONMENTS:
        return create_reflexion(model, environment, memory=lessons, options=options)
    # A graph needs an agent and an evaluator; this one calls neither.
    return create_reflexion(model, actor=_nobody, evaluator=_nothing, memory=lessons, options=options)


def _nobody(task: str) -> str:
    raise NotImplementedError("this graph only learns, and plays no task")


def _nothing(result: str) -> bool:
    raise NotImplementedError("this graph only learns, and judges nothing")
