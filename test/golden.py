"""Golden files: a builder's whole output, kept as YAML beside its test and reviewed as a diff.

`GOLDEN=1` in the environment rewrites them instead of comparing (`make golden`); a file that is missing fails.
"""

from __future__ import annotations

import os
from pathlib import Path

import yaml

REWRITE = "GOLDEN"


def assert_golden(path: Path, document: object) -> None:
    """Compare the document with the file; with GOLDEN=1 write the file."""
    text = yaml.safe_dump(document, sort_keys=False, width=120)
    if os.environ.get(REWRITE) == "1":
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    assert path.exists(), f"{path} does not exist; `make golden` writes it"
    assert path.read_text() == text, f"{path} differs from what is built; `make golden` rewrites it, review the diff"
