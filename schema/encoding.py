"""Answers as JSON, in which fragments of JSON text stand as they were stored."""

import json
import secrets

import orjson


def encode_json(data: object) -> str | bytes:
    try:
        return orjson.dumps(data)
    except TypeError:
        # A lone surrogate, which orjson refuses and JSON can only say escaped.
        return _encode_escaped(data)


def _encode_escaped(data: object) -> str:
    fragments: dict[str, str] = {}

    def hold(value: object) -> str:
        if not isinstance(value, orjson.Fragment):
            raise TypeError(f"{type(value)} is not JSON")
        place = secrets.token_hex()
        fragments[place] = orjson.dumps(value).decode()
        return place

    text = json.dumps(data, default=hold)
    for place, fragment in fragments.items():
        text = text.replace(f'"{place}"', fragment)
    return text
