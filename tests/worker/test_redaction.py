"""No form of a known value remains, wherever it stands and however it comes, and neither do keys of known formats."""

import base64
import json
import time
from collections.abc import Callable, Iterator
from itertools import pairwise
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentforge.worker import key_formats
from agentforge.worker.key_formats import LONGEST_KEY, find_keys
from agentforge.worker.log import Log, LogStream
from agentforge.worker.redaction import MARGIN, RedactingStream, Redactor

MARK = b"[redacted]"
# Without what the mark itself is made of, from which a value could be put together anew.
characters = st.characters(codec="utf-8", exclude_characters="[]", exclude_categories=["Cs"])
values = st.text(characters, min_size=8, max_size=40).filter(lambda value: len(value.strip()) >= 8)


def as_json(value: str) -> str:
    return json.dumps(value)[1:-1]


def as_short_json(value: str) -> str:
    return json.dumps(value, ensure_ascii=False)[1:-1]


WRITTEN: dict[str, Callable[[str], str]] = {
    "as it is": str,
    "in JSON": as_json,
    "in JSON of UTF-8": as_short_json,
    "in JSON in JSON": lambda value: as_json(as_json(value)),
    "in JSON in JSON of UTF-8": lambda value: as_short_json(as_short_json(value)),
    "in JSON of UTF-8 in JSON": lambda value: as_json(as_short_json(value)),
    "in JSON in JSON, the outer of UTF-8": lambda value: as_short_json(as_json(value)),
    "in JSON three times": lambda value: as_json(as_short_json(as_json(value))),
    "in a URL": lambda value: quote(value, safe=""),
    "in a path": quote,
    "in a form": quote_plus,
    "as browsers do": lambda value: quote(value, safe="!'()*"),
    "with small escapes": lambda value: "".join(
        part.lower() if part.startswith("%") else part for part in _escapes(quote(value, safe=""))
    ),
}
IN_BASE64: dict[str, Callable[[bytes], bytes]] = {
    "standard": base64.b64encode,
    "for URLs": base64.urlsafe_b64encode,
    "without padding": lambda data: base64.b64encode(data).rstrip(b"="),
    "for URLs without padding": lambda data: base64.urlsafe_b64encode(data).rstrip(b"="),
}


def _escapes(text: str) -> Iterator[str]:
    position = 0
    while position < len(text):
        length = 3 if text[position] == "%" else 1
        yield text[position : position + length]
        position += length


def in_pieces(redactor: Redactor, data: bytes, cuts: list[int]) -> bytes:
    stream = RedactingStream(redactor)
    places = [0, *sorted(cut % (len(data) + 1) for cut in cuts), len(data)]
    return b"".join([*(stream.feed(data[start:end]) for start, end in pairwise(places)), stream.close()])


def decoded(piece: bytes) -> Iterator[bytes]:
    """What a piece of base64 may stand for, wherever its groups begin."""
    for start in range(4):
        whole = piece[start : start + (len(piece) - start) // 4 * 4].replace(b"=", b"A")
        yield base64.urlsafe_b64decode(whole.translate(bytes.maketrans(b"+/", b"-_")))


@settings(deadline=None, max_examples=300)
@given(
    values,
    st.sampled_from(list(WRITTEN)),
    st.text(characters),
    st.text(characters),
    st.lists(st.integers(0), max_size=5),
)
def test_no_written_form_remains(value: str, way: str, before: str, after: str, cuts: list[int]) -> None:
    written = WRITTEN[way](value)
    data = f"{before}{written}{after}{written}".encode()
    redactor = Redactor([value])
    out = in_pieces(redactor, data, cuts)
    assert written.encode() not in out
    assert MARK in out
    other = Redactor([value])
    assert (other.data(data), other.count) == (out, redactor.count)
    assert written not in Redactor([value]).text(data.decode())


@pytest.mark.parametrize(
    "written",
    [
        r"a\/b+\"c\"&<d>'\u00e9",  # PHP's json_encode
        r"a/b+\"c\"\u0026\u003cd\u003e'é",  # Go's json.Marshal
        r"a/b\u002B\u0022c\u0022\u0026\u003Cd\u003E\u0027\u00E9",  # .NET's JsonSerializer
    ],
)
def test_json_of_other_languages_is_known(written: str) -> None:
    value = 'a/b+"c"&<d>\'é'
    assert json.loads(f'"{written}"') == value
    redactor = Redactor([value])
    assert redactor.text(f'{{"key": "{written}"}}') == '{"key": "[redacted]"}'
    assert redactor.text(as_json(f'{{"key": "{written}"}}')) == as_json('{"key": "[redacted]"}')


@settings(deadline=None, max_examples=300)
@given(values, st.sampled_from(list(IN_BASE64)), st.binary(max_size=9), st.binary(max_size=9), st.lists(st.integers(0)))
def test_no_base64_remains(value: str, way: str, before: bytes, after: bytes, cuts: list[int]) -> None:
    encoded = IN_BASE64[way](before + value.encode() + after)
    out = in_pieces(Redactor([value]), b" " + encoded + b" ", cuts)
    assert MARK in out
    left = [found for piece in out.strip().split(MARK) for found in decoded(piece)]
    # What a piece holds besides is a character at most that the mark's neighbours share with the value.
    assert not [found for found in left if value.encode()[1:-1] in found]
    if not before and not after:
        assert out == b" [redacted] "


@settings(deadline=None)
@given(st.text("abcdefgh123456=/?", min_size=58, max_size=300))
def test_base64_that_is_broken_into_lines(value: str) -> None:
    redactor = Redactor([value])
    lines = redactor.data(base64.encodebytes(value.encode())).splitlines()
    # The last line may be too short to be told from ordinary text.
    assert set(lines[:-1]) == {MARK}
    assert lines[-1] == MARK or len(lines[-1].rstrip(b"=")) < 16


def test_lines_of_a_value_are_values_and_white_space_around_it_is_not() -> None:
    redactor = Redactor(["  first-line-of-a-key\nsecond-line-of-a-key\nend\n"])
    assert redactor.text("> second-line-of-a-key <, end, first-line-of-a-key") == "> [redacted] <, end, [redacted]"
    assert Redactor(["password-1\n"]).text("password-1") == "[redacted]"


def test_values_that_overlap_leave_nothing_of_either() -> None:
    redactor = Redactor(["abcdefgh", "efghijkl", "aaaaaaaa"])
    assert redactor.text("<abcdefghijkl>") == "<[redacted]>"
    assert redactor.text("<" + "a" * 13 + ">") == "<[redacted]>"
    assert redactor.count == 2


def test_values_that_are_no_utf_8(monkeypatch: pytest.MonkeyPatch) -> None:
    redactor = Redactor(["\udca9\udca9\udca9\udca9\udca9\udca9"])
    assert redactor.text("é" * 3) == "ééé"
    assert redactor.data(b"\xa9" * 6) == MARK
    assert redactor.failure is None


PRIVATE_KEY = "-----BEGIN {0}PRIVATE KEY-----\n{1}\n-----END {0}PRIVATE KEY-----"
LINES = "\n".join(["Abc/+123" * 8] * 25 + ["abcdEFGHijklMNOP=="])
# Put together here, or scanners would take this file for one that leaks them.
KEYS = [
    ("AWS Access Key", "AK" + "IAIOSFODNN7EXAMPLE"),
    ("Anthropic Key", "sk-" + "ant-api03-" + "aB3_-" * 18),
    ("Azure Storage Account access key", "Account" + "Key=" + "aB3/" * 21 + "ab=="),
    ("Discord Bot Token", "M" + "TIz" * 8 + ".aBcDeF." + "xYz" * 9),
    ("GitHub Token", "gh" + "p_" + "a1B2" * 9),
    ("GitHub Token", "github" + "_pat_" + "a1B2" * 20),
    ("GitLab Token", "gl" + "pat-" + "a1B2" * 5),
    ("Google API Key", "AI" + "za" + "aB3_-" * 7),
    ("JSON Web Token", "ey" + "JhbGciOiJub25lIn0.eyJzdWIiOiIxIn0." + "sIg_-" * 40),
    ("OpenAI Token", "sk-" + "proj-" + "a1" * 10 + "T3Blbk" + "FJ" + "b2" * 10),
    ("Private Key", PRIVATE_KEY.format("", LINES)),
    ("Private Key", PRIVATE_KEY.format("RSA ", "Proc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,AB12\n\n" + LINES)),
    ("PyPI Token", "py" + "pi-AgEIcHlwaS5vcmc" + "aB3_-" * 20),
    ("SendGrid API Key", "S" + "G." + "a" * 22 + "." + "b" * 43),
    ("Slack Token", "xo" + "xb-123-456-abcDEF"),
    ("Square OAuth Secret", "sq0" + "csp-" + "a" * 43),
    ("Stripe Access Key", "sk_" + "live_" + "a1B2" * 6),
    ("npm Token", "npm" + "_" + "a1B2" * 9),
]
each_key = pytest.mark.parametrize(("name", "key"), KEYS, ids=lambda value: value[:9].strip("-"))


@each_key
def test_keys_go_by_their_format_and_json_stays_json(name: str, key: str) -> None:
    redactor = Redactor([])
    assert redactor.text(f'key: "{key}", and so on') == f'key: "[redacted: {name}]", and so on'
    for text in (key, f"\n{key}\n"):
        for is_ascii in (True, False):
            shown = json.loads(redactor.data(json.dumps([text, 1], ensure_ascii=is_ascii).encode()))
            assert shown == [text.replace(key, f"[redacted: {name}]"), 1]
    assert redactor.count == 5


def test_every_format_has_an_example() -> None:
    found = {name for _, key in KEYS for _, _, name in find_keys(key.encode())}
    assert found == {one.name for one in key_formats.KEY_FORMATS}
    assert max(len(key) for _, key in KEYS) < LONGEST_KEY


def test_a_secret_key_of_aws_goes_and_its_name_stays() -> None:
    key = "wJalrXUtnFEMI/K7MDENG" + "/bPxRfiCYEXAMPLEKEY"
    assert (
        Redactor([]).text(f"aws_secret_access_key = '{key}'") == "aws_secret_access_key = '[redacted: AWS Access Key]'"
    )


def test_a_private_key_goes_from_the_log_and_when_its_end_is_missing() -> None:
    log = Log(65_536, redactor := Redactor([]))
    stream = LogStream(log, "[agent] ", redactor)
    stream.feed(f"before\n{PRIVATE_KEY.format('EC ', LINES)}\nafter\n".encode())
    stream.close()
    assert log.text() == "[agent] before\n[agent] [redacted: Private Key]\n[agent] after\n"
    cut = PRIVATE_KEY.format("", LINES)[:900]
    assert redactor.text(f"{cut} is what I saw") == "[redacted: Private Key] is what I saw"


@each_key
@settings(deadline=None, max_examples=20)
@given(place=st.integers(-200, 200), limit=st.sampled_from([256, 1000, 20_000]), at_end=st.booleans())
def test_a_key_where_a_text_is_cut_leaves_nothing(name: str, key: str, place: int, limit: int, at_end: bool) -> None:
    filling, edge = " é", limit // 2 + place
    text = filling * 40_000
    data = text.encode()
    position = max(0, len(data) - edge if at_end else edge - len(key)) // 3 * 3
    text = (data[:position] + key.encode() + data[position:]).decode()
    redactor = Redactor([])
    short = redactor.shortened(text, limit)
    log = Log(limit, redactor)
    log.add(text)
    assert log.text() == short
    assert len(short.encode()) <= limit
    words = {key[start : start + 12] for start in range(len(key) - 12)}
    assert not [word for word in words if word in short]
    assert redactor.count in (0, 2)


def test_the_margin_is_looked_at_and_the_middle_is_not() -> None:
    redactor = Redactor([])
    key = "gh" + "p_" + "a1B2" * 9
    middle = redactor.shortened(f"{' ' * 3 * MARGIN}{key}{' ' * 3 * MARGIN}", 1000)
    assert "bytes cut" in middle
    assert redactor.count == 0


UNITS = [
    "eyJ",
    " eyJ",
    "=eyJ",
    "\\neyJ",
    "sk-",
    "sk-a",
    "ghp_",
    "xoxb-1-",
    "aws key ",
    "-----BEGIN PRIVATE KEY-----",
    "a",
]


@pytest.mark.parametrize("unit", UNITS)
def test_time_grows_with_the_text_alone(unit: str) -> None:
    data = (unit * (262_144 // len(unit))).encode()
    began = time.process_time()
    find_keys(data)
    # Some 0.03 s; a search that begins anew at each place would take minutes.
    assert time.process_time() - began < 3


class Unusable:
    """A pattern that fails with the very text that it was given."""

    def __init__(self, word: bytes) -> None:
        self.word = word

    def finditer(self, data: bytes) -> Iterator[object]:
        if self.word in data:
            raise RuntimeError(data)
        return iter(())


def test_what_cannot_be_redacted_does_not_come_out(monkeypatch: pytest.MonkeyPatch) -> None:
    broken = key_formats.KeyFormat("Broken", Unusable(b"text"), 0)  # type: ignore[arg-type]
    monkeypatch.setattr(key_formats, "KEY_FORMATS", (broken,))
    told: list[str] = []
    redactor = Redactor(["a-secret-value"], lambda: told.append("failed"))
    assert redactor.text("fine") == "fine"
    assert not told
    assert (redactor.text("a text"), redactor.data(b"a text"), redactor.shortened("a text", 100)) == ("", b"", "")
    assert redactor.json({"a": ["a text", 1]}) == {"a": ["", 1]}
    log = Log(1000, redactor)
    log.add("a text")
    assert log.text() == ""
    failure: str | None = redactor.failure
    assert (failure, told) == ("RuntimeError", ["failed"])
