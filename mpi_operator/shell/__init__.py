"""Where decisions meet the world: what is observed becomes a Snapshot, and what a Plan says becomes requests."""
