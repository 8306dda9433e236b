"""A controller in one file, to read beside docs/informers.md."""
