"""The errors that this package raises.

    ReflexionError
     ├── ConfigurationError       a setting is wrong, or does not fit another one
     ├── EnvironmentUnavailable   an extra, a toolchain or data is missing
     └── Fault                    trouble outside the agent: never counted as a wrong answer
          ├── ModelFault
          └── EnvironmentFault

A failed trial is data, not an error: it is recorded, and the loop goes on. A `Fault` that a node meets ends
its task with status `fault`, with what was gathered so far kept in the state.
"""


class ReflexionError(Exception):
    """Base class of everything that this package raises on purpose."""


class ConfigurationError(ReflexionError, ValueError):
    """A setting is wrong. The message says which one, and what would be right."""


class EnvironmentUnavailable(ReflexionError):
    """An environment cannot be used here: an extra, a toolchain or its data is missing."""


class Fault(ReflexionError):
    """Something outside the agent failed: neither a success nor a failure of the trial."""


class ModelFault(Fault):
    """The chat model could not be reached, or did not answer.

    Attributes:
        permanent: asking again cannot help (a wrong key, an unknown model), so that a run should stop.
    """

    def __init__(self, message: str, *, permanent: bool = False) -> None:
        super().__init__(message)
        self.permanent = permanent


class EnvironmentFault(Fault):
    """The environment could not carry out an action or start an episode."""
