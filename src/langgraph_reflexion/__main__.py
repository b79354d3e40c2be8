"""`python -m langgraph_reflexion`."""

from langgraph_reflexion.lab.cli import main

main()
