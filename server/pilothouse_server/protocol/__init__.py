"""Requests, results and events as models, the kernel's values in that form, and the schema made from it.
Knows `wire` and the kernel's contracts."""
