"""The worker pods: one per ordinal, named by it, made from the Worker's template."""
