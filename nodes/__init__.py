"""The six nodes, one module each."""
