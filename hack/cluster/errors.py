"""Failures that a person can act on."""

from __future__ import annotations


class ClusterError(Exception):
    """Something is missing, taken or broken; the text says what, where its log is, and what to do."""
