"""Sweeps, reports and measurements: a consumer of the package, which nothing but the command line imports."""
