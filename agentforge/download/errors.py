"""How a download can end without its lines."""


class DownloadError(RuntimeError):
    """Nothing more can be done; the text says why, for a person."""


class RefusedRequestError(DownloadError):
    """The service refuses what was asked for."""


class BrokenTransferError(Exception):
    """The answer did not come to its end; another try may go on. `wait` is how many seconds the service asks for."""

    def __init__(self, message: str, wait: float | None = None) -> None:
        super().__init__(message)
        self.wait = wait


def printable(text: str) -> str:
    """What a service said, without what could move a terminal's cursor, and not too long."""
    return "".join(one if one.isprintable() else " " for one in text[:1000])
