"""The headless Service that gives every pod of the job its DNS name."""
