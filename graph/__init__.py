"""The graph: its state, its construction, routing, memory and profiles."""
