"""Models of rules: they know some environments only, and say so before a run begins."""

from typing import Any, Protocol, runtime_checkable


@runtime_checkable
class KnowsSomeWorlds(Protocol):
    """A chat model that follows rules, and has them for some environments only."""

    def expect_world(self, name: str) -> None:
        """Raise ConfigurationError if there are no rules for this environment."""
        ...


def expect_world(model: Any, environment: str) -> None:
    """Refuse a model of rules that has none for an environment. Any other chat model may play everything.

    Args:
        model: The chat model.
        environment: The environment's name, or what is played in place of one ("agents of your own").

    Raises:
        ConfigurationError: the model has no rules for it.
    """
    if isinstance(model, KnowsSomeWorlds):
        model.expect_world(environment)
