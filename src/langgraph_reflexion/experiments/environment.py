"""An environment as the command line asks for it: by name, with options, and from the run's seed."""

from typing import Any

from langgraph_reflexion.envs import load_environment
from langgraph_reflexion.envs.base import Environment
from langgraph_reflexion.errors import ConfigurationError


def make_environment(name: str, options: dict[str, Any], seed: int) -> Environment:
    """Make an environment; one that generates its tasks does so from the seed.

    Args:
        name: Its name, or the path of one's own.
        options: Its options; a `seed` among them goes before the run's.
        seed: The run's seed. An environment that takes none does without.

    Raises:
        ConfigurationError: no such environment, or an option that it does not take.
        EnvironmentUnavailable: something that it needs is missing.
    """
    try:
        return load_environment(name, **{"seed": seed, **options})
    except ConfigurationError as error:
        # Whether it takes a seed is known only by trying.
        if not isinstance(error.__cause__, TypeError) or "seed" in options:
            raise
    return load_environment(name, **options)
