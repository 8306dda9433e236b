import pytest

from hack.cluster.errors import ClusterError
from hack.setup import LOCK, locked_requirement, require_version

TEXT = "a==1 \\\n    --hash=sha256:11 \\\n    --hash=sha256:12\n    # via x\nab==2 \\\n    --hash=sha256:2\n"


def test_a_requirement_comes_with_all_its_hashes_and_no_other() -> None:
    assert locked_requirement(TEXT, "a") == "a==1 \\\n    --hash=sha256:11 \\\n    --hash=sha256:12"


def test_what_is_not_locked_says_how_to_lock() -> None:
    with pytest.raises(ClusterError, match="make lock"):
        locked_requirement(TEXT, "b")


def test_the_installer_itself_is_locked() -> None:
    assert "--hash=sha256:" in locked_requirement(LOCK.read_text(), "uv")


def test_an_old_python_is_refused_with_the_remedy() -> None:
    with pytest.raises(ClusterError, match=r"3\.10 is too old.*PYTHON=python3\.12"):
        require_version((3, 10, 1))
    require_version((3, 11, 0))
