"""One line of the table of measurements."""

from __future__ import annotations

import msgspec


class Row(msgspec.Struct, frozen=True):
    """What was measured, the goal, our figure, and that of the same work with the kubernetes package ("-" for none)."""

    what: str
    goal: str
    ours: str
    kubernetes: str = "-"
    meets: bool = True

    def format(self) -> str:
        """Return the line of a Markdown table."""
        ours = self.ours if self.meets else f"**{self.ours}**"
        return f"| {self.what} | {self.goal} | {ours} | {self.kubernetes} |"


HEADER = "| what | goal | ours | kubernetes package |\n|---|---:|---:|---:|"
