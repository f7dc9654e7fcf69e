"""Stateful stand-ins for the cloud command lines that emitted scripts call."""
