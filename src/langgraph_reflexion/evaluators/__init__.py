"""Evaluators: how a finished trial is scored (M_e)."""
