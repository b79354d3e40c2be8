"""Evaluators: scores of finished trials (M_e, section 3 of the paper)."""
