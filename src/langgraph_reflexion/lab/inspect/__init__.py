"""Reflexion in Inspect AI, the evaluation framework. Needs the extra `inspect`.

```sh
inspect eval langgraph_reflexion/alfworld --model openai/gpt-4o-mini --limit 10 -T max_trials=4
inspect view
```

`docs/inspect.md` describes the mapping and its limits.
"""

from langgraph_reflexion.errors import EnvironmentUnavailable, the_extra

try:
    import inspect_ai
except ImportError as error:
    raise EnvironmentUnavailable(f"inspect-ai is missing; it comes with {the_extra('inspect')}") from error

from langgraph_reflexion.lab.inspect.agent import reflexion_agent, sample_context
from langgraph_reflexion.lab.inspect.chat_model import InspectChatModel
from langgraph_reflexion.lab.inspect.registry import reflexion, samples_of
from langgraph_reflexion.lab.inspect.scorer import solved, solved_by_trial

__all__ = [
    "InspectChatModel",
    "reflexion",
    "reflexion_agent",
    "sample_context",
    "samples_of",
    "solved",
    "solved_by_trial",
]

del inspect_ai
