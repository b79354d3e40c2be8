"""The worlds: a module each."""
