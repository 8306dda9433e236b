"""The MPIJob as stored: its types, its defaults and its validation. Pure; imports nothing of the operator above it."""
