"""A rate-limited work queue and the worker loop that empties it."""
