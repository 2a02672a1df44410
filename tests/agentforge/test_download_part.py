"""Lines of an answer, however it was cut into pieces and wherever it broke off."""

import hashlib
import json
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentforge.download.errors import BrokenTransferError, DownloadError
from agentforge.download.part import Part


def manifest(lines: bytes, **changes: Any) -> bytes:
    told = {
        "format": "manifest",
        "rollouts": lines.count(b"\n"),
        "sha256": hashlib.sha256(lines).hexdigest(),
        "skipped": {},
        "snapshotAt": "2026-01-31T09:00:00+00:00",
    }
    return json.dumps(told | changes).encode() + b"\n"


def line(number: int, text: str = "") -> bytes:
    return json.dumps({"rolloutId": f"{number:08}", "text": text}).encode() + b"\n"


def some_lines(texts: list[str]) -> list[bytes]:
    return [line(99 - number, text) for number, text in enumerate(texts)]


ANSWERS = st.lists(st.text(st.characters(codec=None))).map(some_lines)


@given(st.data())
def test_pieces_of_any_size_make_the_same_lines(data: st.DataObject) -> None:
    lines = data.draw(ANSWERS)
    content = b"".join(lines)
    answer = content + manifest(content)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(answer)))))
    part = Part()
    pieces = [answer[begin:end] for begin, end in pairwise([0, *cuts, len(answer)])]
    assert b"".join(part.feed(piece) for piece in pieces) == content
    assert part.end().rollouts == part.lines == len(lines)


@given(st.data())
def test_a_broken_answer_gives_whole_lines_from_its_beginning(data: st.DataObject) -> None:
    lines = data.draw(ANSWERS)
    content = b"".join(lines)
    answer = content + manifest(content)
    cut = data.draw(st.integers(0, len(answer) - 1))
    part = Part()
    got = part.feed(answer[:cut])
    assert content.startswith(got)
    assert got == b"".join(lines[: part.lines])
    # What came whole is given out but for the last, which is asked for again.
    assert part.lines == max(0, answer[:cut].count(b"\n") - 1)
    assert part.last_id == (json.loads(lines[part.lines - 1])["rolloutId"] if part.lines else None)
    with pytest.raises(BrokenTransferError, match="without its manifest"):
        part.end()


@pytest.mark.parametrize("change", [{"sha256": "0" * 64}, {"rollouts": 3}])
def test_a_manifest_that_does_not_fit(change: dict[str, Any]) -> None:
    part = Part()
    part.feed(line(2) + line(1) + manifest(line(2) + line(1), **change))
    with pytest.raises(DownloadError, match="does not fit its manifest"):
        part.end()


def test_a_manifest_covers_its_own_part_only() -> None:
    part = Part("00000003")
    assert part.feed(line(2) + manifest(line(2))) == line(2)
    assert part.end().rollouts == 1


@pytest.mark.parametrize("odd", [b"<html>502 Bad Gateway</html>\n", b"[]\n", b"{\n", b"\n", b"[" * 5000 + b"\n"])
def test_what_is_no_line_breaks_the_transfer_off(odd: bytes) -> None:
    part = Part()
    part.feed(line(2) + line(1))
    with pytest.raises(BrokenTransferError, match="no JSON object"):
        part.feed(odd + line(0) + odd)
    assert (part.lines, part.last_id) == (1, "00000002")


def test_lines_after_a_manifest() -> None:
    with pytest.raises(BrokenTransferError, match="went on"):
        Part().feed(manifest(b"") + line(1))


@pytest.mark.parametrize("second", [2, 3])
def test_a_line_that_is_no_older_than_the_one_before(second: int) -> None:
    with pytest.raises(DownloadError, match="out of order"):
        Part().feed(line(2) + line(second) + line(0))
    with pytest.raises(DownloadError, match="out of order"):
        Part("00000002").feed(line(second) + line(0))


def test_a_manifest_of_another_time() -> None:
    part = Part()
    part.feed(b'{"format":"manifest","sha256":""}\n')
    with pytest.raises(DownloadError, match="no 'rollouts'"):
        part.end()


@pytest.mark.parametrize(
    "change",
    [
        {"rollouts": "1"},
        {"rollouts": True},
        {"sha256": None},
        {"snapshotAt": 5},
        {"skipped": ["no_task"]},
        {"skipped": {"no_task": "2"}},
    ],
)
def test_a_manifest_of_other_values(change: dict[str, Any]) -> None:
    part = Part()
    part.feed(line(2) + manifest(line(2), **change))
    with pytest.raises(DownloadError, match="other values"):
        part.end()


def test_a_line_without_end_is_not_gathered_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("agentforge.download.part.MOST_LINE_BYTES", 1000)
    part = Part()
    part.feed(b"\n" + b" " * 900)
    part.feed(b" " * 100)
    with pytest.raises(DownloadError, match=r"more than 1,000 bytes"):
        part.feed(b" ")
