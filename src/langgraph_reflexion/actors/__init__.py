"""Actors: how the state becomes a prompt, and a reply the next step."""
