"""The values of HotPotQA in which the papers and the original code differ."""

from collections.abc import Mapping
from typing import Any

from langgraph_reflexion.choices import UNLIMITED

PROFILE_OVERRIDES: Mapping[str, Mapping[str, Any]] = {
    # Section 4.2: a question is retried until it has failed three times in a row; two examples for ReAct, six for
    # chain of thought.
    "paper": {"max_trials": 3},
    "paper/cot": {"examples": 6},
    "paper/cot-gt": {"examples": 6},
    # Section 3.2: six examples.
    "preprint": {"examples": 6},
    # The original notebooks: six steps and no other rule, 5 trials; every reflection is kept, but only the newest one
    # beside the last attempt, and self-reflection does not see the earlier ones.
    "upstream": {
        "heuristic": {"max_actions": 5, "max_cycles": UNLIMITED},
        "max_trials": 5,
        "examples": 6,
        "memory_size": UNLIMITED,
        "memory_beside_attempt": 1,
        "reflects_on_memory": False,
        "layout": "original-numbered",
        "truncation": 1600,
    },
    "upstream/cot": {"layout": "original"},
    "upstream/cot-gt": {"layout": "original", "examples": 3},
}
"""See `Environment.profile_overrides`."""
