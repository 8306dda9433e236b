from hypothesis import given
from hypothesis import strategies as st

from informers.lines import LineSplitter

STREAM = '{"a":"größe"}\r\n{"b":"日本"}\n\n{"c":1}\n'.encode()
LINES = ['{"a":"größe"}\r'.encode(), '{"b":"日本"}'.encode(), b'{"c":1}']


def split(chunks: list[bytes]) -> tuple[list[bytes], bytes]:
    splitter = LineSplitter()
    lines = [line for chunk in chunks for line in splitter.feed(chunk)]
    return lines, splitter.pending


def test_R32_every_split_point_gives_the_lines_of_the_unsplit_stream() -> None:
    for point in range(len(STREAM) + 1):
        assert split([STREAM[:point], STREAM[point:]]) == (LINES, b"")


def test_R32_chunks_of_one_byte_give_the_same_lines() -> None:
    assert split([STREAM[at : at + 1] for at in range(len(STREAM))]) == (LINES, b"")


@given(
    st.lists(st.binary(max_size=20).map(lambda line: line.replace(b"\n", b"")), max_size=8),
    st.lists(st.integers(1, 9), max_size=40),
)
def test_R32_lines_do_not_depend_on_the_chunks(lines: list[bytes], sizes: list[int]) -> None:
    stream = b"".join(line + b"\n" for line in lines)
    chunks, at = [], 0
    for size in sizes:
        chunks.append(stream[at : at + size])
        at += size
    assert split([*chunks, stream[at:]]) == ([line for line in lines if line], b"")


def test_a_line_without_its_newline_stays_pending() -> None:
    assert split([b"whole\nha", b"lf"]) == ([b"whole"], b"half")
