"""The version of the translation, apart from the translator: code that is kept needs only this."""

from __future__ import annotations

VERSION = 22
"""Raised whenever translated code changes: part of the cache key."""
