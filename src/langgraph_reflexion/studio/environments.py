"""The graphs of the environments, one task at a time."""

from collections.abc import Collection, Mapping
from typing import Any, cast

from langgraph_reflexion.envs.base import Environment, Task
from langgraph_reflexion.graph.reflexion import create_reflexion
from langgraph_reflexion.prompts import load_prompts
from langgraph_reflexion.studio.forms import STATES, TaskForm, form_of, task_in
from langgraph_reflexion.studio.served import Built, Outcome, Served, dressed
from langgraph_reflexion.studio.settings import Settings, one_of, setting, settings_of

PAGES = (
    one_of(["corpus", "wikipedia"]),
    setting(
        "corpus",
        "Pages",
        "What is searched: the project's own invented pages, or the live Wikipedia.",
        "observe",
    ),
)
"""The setting that says where pages come from."""


def served(
    environment: type[Environment], form: type[TaskForm] = TaskForm, *, options: Collection[str] = ()
) -> Served[Settings]:
    """The graph of an environment, for each of its settings.

    Args:
        environment: The environment's class.
        form: What a run is asked for.
        options: Which of its options are settings; `pages` is.
    """
    settings_type = settings_of(environment, **({"pages": PAGES} if "pages" in options else {}))
    asked = form_of(environment, form)

    def build(settings: Settings) -> Built:
        chosen = cast(Any, settings)
        made = cast(Any, environment)(seed=settings.seed, **{name: getattr(settings, name) for name in options})
        # SQLite counts as blocking to the server, be it in memory.
        made.blocking = True
        way = made.variant(chosen.agent) if chosen.agent in made.variants else made
        graph = create_reflexion(
            environment=made,
            actor=chosen.agent,
            strategy=settings.strategy,
            evaluator=chosen.evaluator,
            memory_size=settings.memory_size,
            max_trials=settings.max_trials,
            feedback=chosen.feedback,
            prompts=settings.prompts(load_prompts(way.prompts or way.name)),
            # One way to play knows fewer actions than another.
            approve_actions=[name for name in chosen.approve_actions if name in way.episode.actions()],
            approve_reflections=settings.approve_reflections,
            seed=settings.seed,
            **settings.models(),
        )

        def task(state: Mapping[str, Any]) -> Task | None:
            return task_in(state, asked, made, oracle=chosen.evaluator == "environment")

        whole = dressed(
            graph,
            settings.strategy,
            state=STATES[form],
            form=asked,
            outcome=Outcome,
            settings=settings_type,
            task=task,
        )
        return Built(whole.compile(name=made.name), made, whole.pool)

    return Served(settings_type, build)
