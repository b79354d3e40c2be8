"""The laboratory: settings, experiments, the command line, Studio, Inspect and the demo model. Nothing imports it."""
