"""The tools that build, run and check the project: `python -m hack.cluster` and its neighbours."""
