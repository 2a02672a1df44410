"""The download itself: asks, writes what comes, and goes on where a transfer broke off."""

import hashlib
import json
import re
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from random import uniform
from typing import Final

import httpx2

from agentforge.download.destination import Destination
from agentforge.download.errors import BrokenTransferError, DownloadError, RefusedRequestError, printable
from agentforge.download.part import Manifest, Part
from agentforge.download.progress import Shown

ADDRESS: Final = "/api/v1/rollouts"
FIRST_WAIT_SECONDS: Final = 0.5
LONGEST_WAIT_SECONDS: Final = 30.0
#: A service that asks for more patience than this is not waited for.
MOST_PATIENCE_SECONDS: Final = 600.0
_MOST_PROBLEM_BYTES: Final = 65_536


@dataclass(frozen=True, slots=True)
class Asked:
    """What to export. `limit` counts lines; without `can_resume` a transfer that broke off starts over."""

    parameters: Mapping[str, str]
    limit: int | None
    can_resume: bool

    def after(self, last_id: str | None, lines: int) -> dict[str, str]:
        """The query of what comes after so many lines, the last of them of that rollout."""
        limit = {} if self.limit is None else {"limit": str(self.limit - lines)}
        after = {} if last_id is None else {"after": last_id}
        return {**self.parameters, "manifest": "true", **limit, **after}


@dataclass(slots=True)
class Written:
    """What is at the destination. `verified` lines are those of the last part, which its manifest covers."""

    lines: int = 0
    size: int = 0
    last_id: str | None = None
    parts: int = 0
    verified: int = 0
    manifest: Manifest | None = None
    digest: "hashlib._Hash" = field(default_factory=hashlib.sha256)

    def add(self, ready: bytes, part: Part, before: int) -> None:
        self.parts += part.lines > 0 and before == 0
        self.lines += part.lines - before
        self.size += len(ready)
        self.last_id = part.last_id
        self.digest.update(ready)


class Download:
    """Brings an export to its destination, whole."""

    def __init__(self, client: httpx2.Client, asked: Asked, destination: Destination, shown: Shown, tries: int) -> None:
        self._client = client
        self._asked = asked
        self._destination = destination
        self._shown = shown
        self._tries = tries
        self._was_answered = False
        self._written = Written()

    def run(self) -> Written:
        """Tries until all has come, or so many tries in a row brought no line. Raises DownloadError, OSError."""
        if self._shown.is_terminal:
            self._expect()
        failed = 0
        while True:
            before = self._written.lines
            try:
                self._take_part()
                return self._written
            except BrokenTransferError as error:
                failed = 1 if self._written.lines > before else failed + 1
                if failed >= self._tries:
                    raise DownloadError(f"{_sentence(error)} Given up after {failed} tries without a line.") from error
                self._prepare_another(error, failed)

    def _expect(self) -> None:
        """Asks how many lines there will be, for the bar alone; what is wrong with the request, GET will tell."""
        try:
            counted = self._client.head(ADDRESS, params=self._asked.after(None, 0))
        except httpx2.HTTPError:
            return
        if counted.status_code == 200 and re.fullmatch(
            "[0-9]{1,18}", count := counted.headers.get("X-Rollout-Count", "")
        ):
            self._shown.expect(int(count))

    def _prepare_another(self, error: BrokenTransferError, failed: int) -> None:
        wait = min(LONGEST_WAIT_SECONDS, FIRST_WAIT_SECONDS * 2 ** (failed - 1)) * uniform(0.8, 1.2)  # noqa: S311
        if error.wait is not None:
            wait = error.wait
        if wait > MOST_PATIENCE_SECONDS:
            raise DownloadError(f"{_sentence(error)} It asks to come again in {wait:,.0f} seconds.") from error
        if self._written.lines and (not self._asked.can_resume or self._written.last_id is None):
            self._destination.start_over()
            self._written = Written()
        goes_on = f"after {self._written.lines:,} lines" if self._written.lines else "from the start"
        self._shown.note(f"{_sentence(error)} Trying again {goes_on} in {wait:.1f} s.")
        time.sleep(wait)

    def _take_part(self) -> None:
        """One answer, to its end. Raises BrokenTransferError, DownloadError, OSError."""
        written = self._written
        part = Part(written.last_id)
        query = self._asked.after(written.last_id, written.lines)
        try:
            with self._client.stream("GET", ADDRESS, params=query) as response:
                self._was_answered = True
                if response.status_code != 200:
                    raise _refusal(response)
                for chunk in response.iter_bytes():
                    self._take(part, chunk)
        except (httpx2.TransportError, httpx2.DecodingError) as error:
            if isinstance(error, httpx2.ConnectError | httpx2.ConnectTimeout) and not self._was_answered:
                raise DownloadError(f"{self._client.base_url} cannot be reached: {_reason(error)}.") from error
            try:
                self._end(part)  # of an answer whose end alone is missing, everything is here
            except BrokenTransferError:
                raise BrokenTransferError(f"the transfer broke off: {_reason(error)}") from error
        else:
            self._end(part)

    def _take(self, part: Part, chunk: bytes) -> None:
        before = part.lines
        ready = part.feed(chunk)
        if ready:
            self._destination.write(ready)
            self._written.add(ready, part, before)
        self._shown.tell(self._written.lines, self._written.size, len(chunk))

    def _end(self, part: Part) -> None:
        self._written.manifest = part.end()
        self._written.verified = part.lines


def _sentence(error: Exception) -> str:
    text = str(error)
    return text[:1].upper() + text[1:].rstrip(".") + "."


def _reason(error: Exception) -> str:
    return str(error).rstrip(".") or type(error).__name__


def _refusal(response: httpx2.Response) -> Exception:
    """What an answer other than 200 means, with the detail that it gives."""
    try:
        problem = json.loads(_beginning(response))
        detail = str(problem["detail"])
    except (httpx2.HTTPError, ValueError, KeyError, TypeError, RecursionError):
        problem, detail = {}, response.reason_phrase
    status = response.status_code
    for name in ("field", "errorId"):
        if name in problem:
            value = problem[name]
            detail += f" ({name}: {'.'.join(map(str, value)) if isinstance(value, list) else value})"
    message = f"The service answered {status}: {printable(detail)}"
    if status == 429 or status >= 500:
        return BrokenTransferError(message, retry_after(response.headers.get("Retry-After", "")))
    if 300 <= status < 400:
        location = printable(response.headers.get("Location", "nowhere"))
        return DownloadError(f"The service answered {status} and points to {location}.")
    return RefusedRequestError(message) if status == 400 else DownloadError(message)


def _beginning(response: httpx2.Response) -> bytes:
    """As much of an answer as a problem may take: what a service that is none sends besides is not waited for."""
    found = b""
    for chunk in response.iter_bytes():
        found += chunk
        if len(found) > _MOST_PROBLEM_BYTES:
            break
    return found


def retry_after(text: str) -> float | None:
    """Seconds of a Retry-After header (RFC 9110, 10.2.3): a number, or a date."""
    if text.isdecimal():
        return float(text)
    try:
        moment = parsedate_to_datetime(text)
    except ValueError:
        return None
    return max(0.0, (moment.replace(tzinfo=moment.tzinfo or UTC) - datetime.now(UTC)).total_seconds())
