"""Helpers that every floor may use, and that know nothing of agents."""
