"""The forms in which a secret value may turn up in what an agent prints, sends or leaves."""

import base64
import json
import os
from collections.abc import Iterator
from typing import Final
from urllib.parse import quote, quote_plus

# Shorter values ("true", "1") are settings, not secrets; blanking them out would ruin ordinary text.
SHORTEST_SECRET: Final = 6
# Lines of a longer value are shown one by one, as of a private key.
_SHORTEST_LINE: Final = 16
# How `base64` and PEM break their lines, in characters.
_LINE_LENGTHS: Final = (76, 64)
# What encodeURIComponent of browsers leaves as it is, besides letters, digits and _.-~
_UNESCAPED_BY_BROWSERS: Final = "!'()*"
# What encoders of JSON escape besides, lest it mean something where the JSON is put.
_ESCAPED_BY_GO: Final = str.maketrans({one: f"\\u{ord(one):04x}" for one in "&<>\u2028\u2029"})
_ESCAPED_BY_DOTNET: Final = {one: f"\\u{ord(one):04X}" for one in "\"&'+<>`"}
_URL_SAFE: Final = bytes.maketrans(b"+/", b"-_")


def forms(secret: str) -> set[bytes]:
    """As it is, escaped for JSON up to three times, in base64 and in URLs; none of what is too short for a secret."""
    values = {secret, secret.strip(), *(line.strip() for line in _lines(secret))}
    return {
        form
        for value in values
        if len(value) >= SHORTEST_SECRET
        for form in (os.fsencode(value), *_in_json(value), *_in_base64(os.fsencode(value)), *_in_urls(value))
    }


def _lines(secret: str) -> list[str]:
    return [line for line in secret.splitlines() if len(line.strip()) >= _SHORTEST_LINE]


def _escaped(text: str) -> set[str]:
    return {json.dumps(text, ensure_ascii=is_ascii)[1:-1] for is_ascii in (True, False)}


def _in_json(value: str) -> Iterator[bytes]:
    """JSON in JSON is common; and what stands in the arguments of a tool is escaped once more.

    The innermost also as PHP, Go and .NET write it, which escape more.
    """
    texts = {value}
    for level in range(3):
        texts = {escaped for text in texts for escaped in _escaped(text)}
        if level == 0:
            texts |= {_as_php(value), _as_go(value), _as_dotnet(value)}
        yield from (text.encode("utf-8", "surrogatepass") for text in texts)


def _as_php(value: str) -> str:
    return json.dumps(value)[1:-1].replace("/", "\\/")


def _as_go(value: str) -> str:
    return json.dumps(value, ensure_ascii=False)[1:-1].translate(_ESCAPED_BY_GO)


def _as_dotnet(value: str) -> str:
    return "".join(_ESCAPED_BY_DOTNET.get(one) or _with_large_digits(json.dumps(one)[1:-1]) for one in value)


def _with_large_digits(escaped: str) -> str:
    return escaped.upper().replace("\\U", "\\u") if escaped.startswith("\\u") else escaped


def _in_urls(value: str) -> Iterator[bytes]:
    data = os.fsencode(value)
    for text in (quote(data, safe=""), quote(data), quote_plus(data), quote(data, safe=_UNESCAPED_BY_BROWSERS)):
        yield text.encode()
        yield _with_small_escapes(text).encode()


def _with_small_escapes(text: str) -> str:
    first, *rest = text.split("%")
    return "%".join([first, *(part[:2].lower() + part[2:] for part in rest)])


def _in_base64(data: bytes) -> Iterator[bytes]:
    """At each of the three places where a value may begin in a group, with and without its last character and padding.

    The characters that hold bits of a neighbour as well are left out, and so is the last one of the shortest form.
    """
    for before in range(3):
        encoded = base64.b64encode(bytes(before) + data)[(0, 2, 3)[before] :]
        unpadded = encoded.rstrip(b"=")
        whole = unpadded[:-1] if encoded != unpadded else unpadded
        pieces = () if before else (*_pieces(encoded), *_pieces(unpadded))
        for form in {encoded, unpadded, whole, *pieces}:
            yield form
            yield form.translate(_URL_SAFE)


def _pieces(encoded: bytes) -> Iterator[bytes]:
    """The lines that it is broken into."""
    for length in _LINE_LENGTHS:
        for start in range(0, len(encoded), length):
            if len(line := encoded[start : start + length]) >= _SHORTEST_LINE:
                yield line
