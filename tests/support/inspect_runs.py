"""Small evaluations by Inspect, in a process of their own: `python inspect_runs.py FOLDER`."""

import asyncio
import sys
from pathlib import Path

from inspect_ai import Task, eval_async
from inspect_ai.dataset import Sample
from inspect_ai.model import GenerateConfig, ModelOutput, ModelUsage, get_model
from inspect_ai.scorer import includes
from langchain.agents import create_agent

from langgraph_reflexion.envs.base import Review
from langgraph_reflexion.lab.inspect import (
    InspectChatModel,
    reflexion_agent,
    sample_context,
    samples_of,
    solved,
    solved_by_trial,
)
from tests.support.toys import Counter, count_to


class Doubtful(Counter):
    """Counters, the first of which nobody can judge."""

    def review(self, task, trial):
        return Review(gradable=task["id"] != "c3")


def says(*replies):
    """A model that says this, the last of it again and again."""
    left = list(replies)

    def answer(*_):
        reply = left.pop(0) if len(left) > 1 else left[0]
        if isinstance(reply, Exception):
            raise reply
        made = reply if isinstance(reply, ModelOutput) else ModelOutput.from_content("mock", reply)
        made = made.model_copy(deep=True)
        # Otherwise Inspect counts tokens with an encoding that it downloads.
        made.usage = ModelUsage(input_tokens=80, input_tokens_cache_read=10, output_tokens=10, total_tokens=100)
        return made

    return get_model("mockllm/model", custom_outputs=answer, memoize=False)


def counting(name, model, goals=(3,), environment=None, **settings):
    """A task of counters, in two trials of two actions at most, unless the settings say otherwise."""
    options = ("token_limit", "message_limit", "model_roles", "epochs")
    limits = {key: settings.pop(key) for key in options if key in settings}
    settings = {"max_trials": 2, "heuristic": lambda steps: "enough" if len(steps) > 1 else None, **settings}
    return Task(
        name=name,
        dataset=samples_of([count_to(goal) for goal in goals]),
        setup=sample_context(),
        solver=reflexion_agent(environment or Counter(), retries=1, **settings),
        scorer=[solved(), solved_by_trial()],
        model=model,
        **limits,
    )


def own_agent(model, name="own_agent"):
    """A LangChain agent that is judged by a function."""
    agent = create_agent(InspectChatModel(), [])
    solver = reflexion_agent(actor=agent, evaluator=lambda task, result: result == "forty-two", max_trials=3)
    samples = [Sample(input="What is the answer?", target="forty-two")]
    return Task(name=name, dataset=samples, solver=solver, scorer=includes(), model=model)


def own_function():
    """A function that is judged by another one."""
    solver = reflexion_agent(
        actor=lambda task: "forty-two", evaluator=lambda result: result == "forty-two", strategy="retry"
    )
    samples = [Sample(input="What is the answer?", target="forty-two")]
    return Task(name="own_function", dataset=samples, solver=solver, scorer=includes(), model=says("Hm."))


async def main(folder):
    """Run them all."""
    note = "Say forty-two."
    tool_call = ModelOutput.for_tool_call("mock", "add", {"amount": 3})
    tasks = [
        counting("limited", says("Action: add 1"), heuristic=lambda steps: None, token_limit=250),
        counting("talkative", says("Action: add 1"), heuristic=lambda steps: None, message_limit=8),
        counting("broken", says("Action: fail")),
        counting("buggy", says("Action: add 1"), heuristic=lambda steps: 1 / 0),
        counting("silent", says(RuntimeError("the model is gone"))),
        counting("empty", says("")),
        counting("tools", says(tool_call), actor="tools"),
        counting(
            "roles",
            says("Action: add 1", "Action: add 1", "Action: add 3"),
            model_roles={"reflector": says("Add three at once.")},
        ),
        counting("doubtful", says("Action: add 4"), (3, 4, 5), Doubtful()),
        own_agent(says("forty-one", note, "forty-two")),
        own_function(),
        counting("priced", says("Action: add 3"), prices={"model": "1,2"}, budgets={"task": {"cost": 1.0}}),
        counting("unpriced", says("Action: add 3"), prices={"other": "1,2"}, budgets={"task": {"cost": 1.0}}),
        # Each epoch alone takes ten actions.
        counting(
            "epochs",
            says("Action: add 1"),
            (30,),
            heuristic=lambda steps: "enough" if len(steps) > 9 else None,
            max_trials=1,
            budgets={"run": {"actions": 20}},
            epochs=4,
        ),
        # Of the second trial, two reflections are useless.
        own_agent(says("forty-one", note, "forty", note, note, "forty-two"), "repeated"),
    ]
    config = GenerateConfig(temperature=0.25)
    options = {**config.model_dump(exclude_none=True), "log_dir": str(folder), "max_tasks": 4, "fail_on_error": False}
    await eval_async(tasks, **options)


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1])))
