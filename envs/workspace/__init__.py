"""A workspace: a directory of files, commands that check it, and tools to work in it until they pass."""
