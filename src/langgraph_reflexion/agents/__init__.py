"""A whole agent as the actor: one call of it is one trial, and its messages are the trajectory."""
