"""`python -m langgraph_reflexion`."""

from langgraph_reflexion.cli import main

main()
