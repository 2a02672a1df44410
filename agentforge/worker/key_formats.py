"""Keys that are known by their format, whoever they belong to: the rules of detect-secrets, and a few of our own.

Of its detectors those that name a format exactly are used: none by entropy or by a name nearby, which take ordinary
text for secrets, and none that matches across quotes, which would ruin JSON. A rule takes time in proportion to the
text, whatever an agent writes; all of them together some 30 ms for a megabyte.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from detect_secrets.plugins.aws import AWSKeyDetector
from detect_secrets.plugins.azure_storage_key import AzureStorageKeyDetector
from detect_secrets.plugins.base import RegexBasedDetector
from detect_secrets.plugins.discord import DiscordBotTokenDetector
from detect_secrets.plugins.github_token import GitHubTokenDetector
from detect_secrets.plugins.gitlab_token import GitLabTokenDetector
from detect_secrets.plugins.openai import OpenAIDetector
from detect_secrets.plugins.pypi_token import PypiTokenDetector
from detect_secrets.plugins.sendgrid import SendGridDetector
from detect_secrets.plugins.slack import SlackDetector
from detect_secrets.plugins.square_oauth import SquareOAuthDetector
from detect_secrets.plugins.stripe import StripeDetector

#: Bytes of the longest key that is found.
LONGEST_KEY: Final = 12_288

_DETECTORS: Final[tuple[RegexBasedDetector, ...]] = (
    AWSKeyDetector(),
    AzureStorageKeyDetector(),
    DiscordBotTokenDetector(),
    GitHubTokenDetector(),
    GitLabTokenDetector(),
    OpenAIDetector(),
    PypiTokenDetector(),
    SendGridDetector(),
    SlackDetector(),
    SquareOAuthDetector(),
    StripeDetector(),
)
# The beginning of a run of characters, where the search of one without a limit may begin, or else it would begin at
# each of them. In JSON that is also behind the letter of an escape.
_BEGINNING: Final = rb"(?:(?<![\w-])|(?<=\\[nrt]))"

# detect-secrets finds the first line of a private key; what must not be kept is the rest. Lines may end as in JSON and
# begin with the name of a stream, as in the log. Without an end, of a key that was cut, the lines of base64 go.
_PRIVATE_KEY: Final = rb"""
    -{4,5}[ ]?BEGIN[ ][A-Z0-9 ]{0,40}PRIVATE[ ]KEY(?:[ ]BLOCK)?[ ]?-{4,5}
    (?: (?:[\w+/=\s\\:,.()\[\]]{0,200}-){0,6} [\w+/=\s\\:,.()\[\]]{0,7900} -{4,5}[ ]?END[ ][A-Z0-9 ]{0,60}-{4,5}
      | (?: (?:\s|\\[nr]|\[[a-z]+\][ ]){1,20} [A-Za-z0-9+/=]{16,200} ){0,100}
    )
"""
_OWN: Final = (
    ("Private Key", re.compile(_PRIVATE_KEY, re.VERBOSE)),
    ("Anthropic Key", re.compile(rb"sk-ant-[\w-]{20,}")),
    ("GitHub Token", re.compile(rb"github_pat_\w{22,}")),
    ("Google API Key", re.compile(rb"AIza[\w-]{35}")),
    ("npm Token", re.compile(rb"npm_[A-Za-z0-9]{36}")),
    # That of detect-secrets leaves the signature, and takes longer than the text is long.
    ("JSON Web Token", re.compile(_BEGINNING + rb"eyJ[\w-]+\.[\w-]+(?:\.[\w-]*){0,3}")),
)
# A key that is longer than its format says goes as a whole.
_REST: Final = re.compile(rb"[\w-]{0,1024}")


@dataclass(frozen=True, slots=True)
class KeyFormat:
    """`group` of the pattern is the key: 0, all of it, unless the pattern takes in what stands around."""

    name: str
    pattern: re.Pattern[bytes]
    group: int


def _of(detector: RegexBasedDetector) -> Iterator[KeyFormat]:
    for pattern in detector.denylist:
        text = pattern.pattern.encode()
        if isinstance(detector, OpenAIDetector):
            text = _BEGINNING + text
        group = pattern.groups if isinstance(detector, AWSKeyDetector) else 0
        yield KeyFormat(detector.secret_type, re.compile(text, pattern.flags & ~re.UNICODE), group)


KEY_FORMATS: Final = (
    *(KeyFormat(name, pattern, 0) for name, pattern in _OWN),
    *(key_format for detector in _DETECTORS for key_format in _of(detector)),
)


def find_keys(data: bytes) -> list[tuple[int, int, str]]:
    """Start, end and format of each key, in order; keys that overlap count as one, of the format that begins first."""
    keys: list[tuple[int, int, str]] = []
    for start, end, name in sorted(_matches(data)):
        if keys and start < keys[-1][1]:
            first, last, named = keys[-1]
            keys[-1] = (first, max(last, end), named)
        else:
            keys.append((start, end, name))
    return keys


def _matches(data: bytes) -> Iterator[tuple[int, int, str]]:
    for key_format in KEY_FORMATS:
        for match in key_format.pattern.finditer(data):
            rest = _REST.match(data, match.end(key_format.group))
            assert rest
            yield match.start(key_format.group), rest.end(), key_format.name
