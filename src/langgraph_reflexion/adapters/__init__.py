"""The sandbox in other people's frameworks: `adapters.langchain` and `adapters.deepagents`."""
