"""Cutting the middle out of a text, with an exact note of how much was cut."""

from typing import Final

_NOTE: Final = "\n[... {count} bytes cut ...]\n"
_NOTE_BYTES: Final = 48  # room for the note with a count of up to 20 digits


def _starts_inside_character(data: bytes, position: int) -> bool:
    return 0 < position < len(data) and data[position] & 0xC0 == 0x80


def cut_middle(head: bytes, tail: bytes, total: int, limit: int) -> bytes:
    """Joins both ends of a UTF-8 text of `total` bytes around a note; the result has at most `limit` bytes.

    `head` and `tail` hold at least the first and last `limit` bytes of the text, `total` is over `limit`, and
    `limit` is at least 64. No character is cut in two.
    """
    kept = limit - _NOTE_BYTES
    head_end = kept // 2
    while _starts_inside_character(head, head_end):
        head_end -= 1
    tail_start = len(tail) - kept // 2
    while _starts_inside_character(tail, tail_start):
        tail_start += 1
    cut = total - head_end - (len(tail) - tail_start)
    return head[:head_end] + _NOTE.format(count=cut).encode() + tail[tail_start:]


def truncate_middle(text: str, limit: int) -> str:
    """Returns `text` in at most `limit` bytes of UTF-8; lone surrogates (3 bytes each) stay."""
    data = text.encode("utf-8", "surrogatepass")
    if len(data) <= limit:
        return text
    return cut_middle(data, data, len(data), limit).decode("utf-8", "surrogatepass")


def storable(text: str) -> str:
    """Shows NUL and lone surrogates, which a database's text refuses, as escapes."""
    return text.replace("\0", "\\x00").encode("utf-8", "backslashreplace").decode()
