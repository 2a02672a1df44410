"""Steps, logs, truncation, redaction and scores: each text comes out as it should."""

import json
import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentforge.worker.evaluation import parse_score
from agentforge.worker.log import Log, LogStream
from agentforge.worker.outcome import EvaluatorFailedError, short_detail
from agentforge.worker.redaction import MARGIN, RedactingStream, Redactor
from agentforge.worker.steps import Recorder, Step, encode_step, encode_steps

# A high surrogate right before a low one is one character in any JSON, so no reader can give back two.
any_text = st.text(st.characters(codec=None, exclude_categories=[])).filter(
    lambda text: not re.search("[\ud800-\udbff][\udc00-\udfff]", text)
)
NOTE = re.compile(rb"\n\[\.\.\. (\d+) bytes cut \.\.\.\]\n")


@settings(deadline=None)
@given(st.lists(st.tuples(any_text, any_text, any_text)))
def test_steps_come_out_of_their_json_as_they_went_in(texts: list[tuple[str, str, str]]) -> None:
    steps = [Step(number, *parts) for number, parts in enumerate(texts, 1)]
    encoded = encode_steps(steps)
    assert encoded.isascii()
    assert "\n" not in encoded
    assert [Step(**value) for value in json.loads(encoded)] == steps


def test_a_step_is_canonical_json() -> None:
    step = Step(1, "t", '{"a":1}', "\0\u2028\ud800é")
    assert encode_step(step) == (
        r'{"step":1,"tool":"t","command":"{\"a\":1}","observation":"\u0000\u2028\ud800\u00e9"}'
    )


def test_steps_are_on_disk_at_once(tmp_path: Path) -> None:
    recorder = Recorder(tmp_path / "steps.jsonl", 256, Redactor([]), [])
    recorder.add("a", "b", "\udfff")
    assert (tmp_path / "steps.jsonl").read_text() == encode_step(recorder.steps[0]) + "\n"
    recorder.close()


@settings(deadline=None)
@given(
    st.text(st.characters(codec=None, exclude_categories=[]), min_size=1).map(lambda t: t * 40), st.integers(64, 999)
)
def test_truncation_cuts_the_middle_and_says_exactly_how_much(text: str, limit: int) -> None:
    data = text.encode("utf-8", "surrogatepass")
    cut = Redactor([]).shortened(text, limit).encode("utf-8", "surrogatepass")
    if len(data) <= limit:
        assert cut == data
        return
    assert len(cut) <= limit
    # The last note is ours only if the text holds none; its own characters may look like one.
    notes = [note for note in NOTE.finditer(cut) if data.startswith(cut[: note.start()])]
    assert any(
        data.endswith(cut[note.end() :]) and note.start() + int(note[1]) + len(cut) - note.end() == len(data)
        for note in notes
    )


@settings(deadline=None)
@given(st.lists(st.binary(max_size=90)), st.integers(64, 300))
def test_a_log_is_the_same_however_it_is_cut_into_pieces(pieces: list[bytes], limit: int) -> None:
    whole, parts = Log(limit, Redactor([])), Log(limit, Redactor([]))
    for log, feed in ((whole, [b"".join(pieces)]), (parts, pieces)):
        stream = LogStream(log, "> ", Redactor([]))
        for piece in feed:
            stream.feed(piece)
        stream.close()
    assert parts.text() == whole.text()
    assert len(whole.text().encode()) <= limit


def test_a_log_prefixes_lines_replaces_invalid_bytes_and_ends_its_last_line() -> None:
    log = Log(1000, Redactor([]))
    stream = LogStream(log, "[agent] ", Redactor([]))
    stream.feed(b"one\n\ntw\xc3")
    stream.feed(b"\xb6\xff\0\r\nthree")
    stream.close()
    assert log.text() == (
        "[agent] one\n[agent] \n[agent] tw\u00f6\ufffd\0\r\n[agent] three\n"
        "[agent] [... invalid UTF-8 replaced: 1 sequences, 1 bytes ...]\n"
    )


def test_a_flooded_log_holds_little_and_knows_what_it_cut() -> None:
    log = Log(256, Redactor([]))
    stream = LogStream(log, "", Redactor([]))
    for number in range(100_000):
        stream.feed(b"%06d\n" % number)
    stream.close()
    text = log.text().encode()
    note = NOTE.search(text)
    assert note
    assert int(note[1]) == 700_000 - (len(text) - len(note[0]))
    assert text.startswith(b"000000\n")
    assert text.endswith(b"099999\n")
    assert len(log._head) + len(log._tail) <= 3 * (256 + MARGIN) + 10


# Of so few characters that values overlap themselves and each other.
secrets = st.lists(st.text('ab\n"', min_size=6, max_size=9), max_size=3)


@settings(deadline=None, max_examples=300)
@given(secrets, st.lists(st.text('ab\n"', max_size=12)))
def test_redaction_of_a_stream_equals_redaction_of_the_whole(values: list[str], pieces: list[str]) -> None:
    redactor = Redactor(values)
    stream = RedactingStream(redactor)
    out = b"".join([*(stream.feed(piece.encode()) for piece in pieces), stream.close()])
    whole = Redactor(values)
    assert (out, redactor.count) == (whole.data("".join(pieces).encode()), whole.count)
    assert not [value for value in values if value in out.decode()]


def test_short_values_are_settings_not_secrets() -> None:
    assert Redactor(["true", "1", ""]).text("true 1") == "true 1"


@pytest.mark.parametrize(
    ("printed", "reason"),
    [
        (b"", "not one JSON object"),
        (b"[]", "not one JSON object"),
        (b"{} {}", "not one JSON object"),
        (b'{"reward": 1}\n{"reward": 0}', "not one JSON object"),
        (b'{"reward": 1, "reward": 0}', "a key stands twice"),
        (b'{"reward": 1, "a": {"b": 1, "b": 2}}', "a key stands twice"),
        (b'{"reward": Infinity}', "Infinity is not JSON"),
        (b'{"reward": -Infinity}', "-Infinity is not JSON"),
        (b'{"reward": 1, "other": NaN}', "NaN is not JSON"),
        (b'{"reward": 1e999}', "1e999 is too large"),
        (b'{"reward": 1' + b"0" * 400 + b"}", "reward is too large"),
        (b'{"reward": true}', "reward is not a number: true"),
        (b'{"reward": "abc"}', 'reward is not a number: "abc"'),
        (b'{"reward": [1]}', "reward is not a number: [1]"),
        (b'{"reward": 1, "stage_a": false}', "stage_a is not a number"),
        (b'{"reward": 1, "stage_a": null}', "stage_a is not a number"),
        (b'{"reward": 1, "failure_category": "No Good"}', "failure_category"),
        (b'{"reward": 1, "failure_category": "a\\n"}', "failure_category"),
        (b'{"reward": 1, "failure_detail": 3}', "failure_detail is not a text"),
        (b'{"reward": 1, "x": "\xff"}', "not one JSON object"),
        (b"[" * 100_000, "not one JSON object"),
    ],
)
def test_what_is_no_score_is_refused_with_a_reason(printed: bytes, reason: str) -> None:
    with pytest.raises(EvaluatorFailedError, match=re.escape(reason)):
        parse_score(printed, Redactor([]))


def test_a_score_may_stand_among_white_space_and_keeps_other_keys() -> None:
    score = parse_score(
        b' \n{"reward": 2, "stage_b": 1, "stage_a": 0.5, "failure_category": null, "n": "\\ud800"}\n', Redactor([])
    )
    assert (score.reward, score.category) == (2.0, None)
    assert score.stages == (("stage_b", 1.0), ("stage_a", 0.5))
    assert score.metrics == {"n": "\ud800"}


def test_a_detail_is_short_and_a_database_can_hold_it() -> None:
    assert short_detail("a\0\ud800") == "a\\x00\\ud800"
    assert len(short_detail("x" * 501) or "") == 500
