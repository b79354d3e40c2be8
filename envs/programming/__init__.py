"""Programming: problems, the grading of candidates, and the loop over self-written tests."""
