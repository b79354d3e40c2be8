"""The graph: its construction, its routing, and how a task that has ended continues."""
