"""In other people's frameworks: the sandbox (`langchain`, `deepagents`), and all of it (`inspect`)."""
