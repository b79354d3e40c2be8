"""The original repository's logs: what they say, and runs of the graph over them."""
