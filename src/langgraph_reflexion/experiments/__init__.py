"""Sweeps, reports and measurements: a consumer of the package, which only the command line and Inspect import."""
