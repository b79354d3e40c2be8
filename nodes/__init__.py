"""The six nodes, one module each, and what they are made of."""
