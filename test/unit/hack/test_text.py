import pytest

from hack.text import faults


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        pytest.param(b"", [], id="an empty file"),
        pytest.param(b"a\n", [], id="a good file"),
        pytest.param(b"a", ["does not end in exactly one newline"], id="no final newline"),
        pytest.param(b"a\n\n", ["does not end in exactly one newline"], id="an empty last line"),
        pytest.param(b"a\r\n", ["carriage returns"], id="Windows line ends"),
        pytest.param(b"a \nb\n", ["blanks at the end of a line"], id="trailing blanks"),
        pytest.param(b"<" * 7 + b" HEAD\n", ["conflict marks"], id="a merge conflict"),
    ],
)
def test_faults_of_a_text_file(data: bytes, expected: list[str]) -> None:
    assert faults(data) == expected
