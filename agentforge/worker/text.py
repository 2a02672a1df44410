"""Cutting the middle out of a text, with an exact note of how much was cut."""

from typing import Final

_NOTE: Final = "\n[... {count} bytes cut ...]\n"
_NOTE_BYTES: Final = 48  # room for the note with a count of up to 20 digits


def is_inside_character(data: bytes, position: int) -> bool:
    """Whether a cut of UTF-8 there would cut a character in two."""
    return 0 < position < len(data) and data[position] & 0xC0 == 0x80


def cut_middle(head: bytes, tail: bytes, total: int, limit: int) -> bytes:
    """Joins both ends of a UTF-8 text of `total` bytes around a note; the result has at most `limit` bytes.

    `head` and `tail` hold its first and last bytes, whole characters, and `limit` is at least 64. No character is cut
    in two.
    """
    kept = limit - _NOTE_BYTES
    head_end = min(kept // 2, len(head))
    while is_inside_character(head, head_end):
        head_end -= 1
    tail_start = max(0, len(tail) - kept // 2)
    while is_inside_character(tail, tail_start):
        tail_start += 1
    cut = total - head_end - (len(tail) - tail_start)
    return head[:head_end] + _NOTE.format(count=cut).encode() + tail[tail_start:]


def storable(text: str) -> str:
    """Shows NUL and lone surrogates, which a database's text refuses, as escapes."""
    return text.replace("\0", "\\x00").encode("utf-8", "backslashreplace").decode()
