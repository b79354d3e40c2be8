"""The Reflexion agent (Shinn et al. 2023) as a LangGraph state machine.

```python
from langgraph_reflexion import create_reflexion, load_environment

environment = load_environment("alfworld")
graph = create_reflexion(model, environment).compile()
final = graph.invoke({"task": environment.tasks()[0]})
```

Public names are imported on first use, so that importing the package is cheap. `__init__.pyi` lists them.
"""

from langgraph_reflexion.support.lazy import lazy_names, names_in_stub

__version__ = "0.2.0"
__all__, __getattr__, __dir__ = lazy_names(__name__, names_in_stub(__file__))
