"""Stateful fakes of the cloud command-line tools that generated scripts call."""
