"""Deciding what follows from what is observed: pure, total, deterministic."""
