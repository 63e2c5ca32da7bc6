"""The name of our own command line as a client."""

from __future__ import annotations

__all__ = ["CLIENT_NAME"]

CLIENT_NAME = "pilothouse-headless"
"""By which the server knows that settings were typed by the user, not found in a workspace."""
