"""Programming: problems, how candidates are judged, and the loop over self-written tests."""
