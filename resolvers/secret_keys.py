"""The keys that secret values are encrypted with."""

import hmac
import json
from typing import Self
from uuid import UUID

from cryptography.fernet import Fernet, InvalidToken, MultiFernet

from db.errors import ConflictError

VARIABLE = "AGENTFORGE_SECRET_KEYS"


class UnreadableSecretError(ConflictError):
    """A stored value that none of the keys opens, or that was another's."""


class SecretKeys:
    """The first key encrypts, all of them decrypt.

    What is encrypted holds organization and name besides the value, so that a ciphertext that was moved to another
    secret or organization is refused.
    """

    def __init__(self, keys: list[str]) -> None:
        """Raises ValueError for what is no key, without repeating it."""
        fernets = []
        for number, key in enumerate(keys, 1):
            try:
                fernets.append(Fernet(key))
            except ValueError:
                raise ValueError(
                    f"key {number} of {len(keys)} is not 32 bytes in URL-safe base64; `agentforge secret key` makes one"
                ) from None
        self._fernet = MultiFernet(fernets) if fernets else None
        self._first = keys[0].encode() if keys else b""

    @classmethod
    def parse(cls, text: str | None) -> Self:
        """Keys separated by commas; none at all for None. Raises ValueError."""
        return cls([] if text is None else [key.strip() for key in text.split(",")])

    @staticmethod
    def new() -> str:
        return Fernet.generate_key().decode()

    def seal(self, organization_id: UUID, name: str, value: str) -> bytes:
        """Raises ConflictError when there is no key."""
        return self._any().encrypt(json.dumps([str(organization_id), name, value]).encode())

    def open(self, organization_id: UUID, name: str, ciphertext: bytes) -> str:
        """The value. Raises ConflictError when there is no key, UnreadableSecretError when none fits."""
        try:
            organization, named, value = json.loads(self._any().decrypt(ciphertext))
        except InvalidToken:
            raise UnreadableSecretError(f"None of the keys in {VARIABLE} decrypts the secret {name}.") from None
        if (organization, named) != (str(organization_id), name):
            raise UnreadableSecretError(f"What is stored as the secret {name} was encrypted as another one.")
        return str(value)

    def fingerprint(self, text: str) -> str:
        """Tells equal texts without telling anything of them to whoever has not the keys. Raises ConflictError."""
        self._any()
        return hmac.new(self._first, text.encode("utf-8", "surrogatepass"), "sha256").hexdigest()

    def _any(self) -> MultiFernet:
        if self._fernet is None:
            raise ConflictError(
                f"There is no key to encrypt secrets with: `agentforge secret key` makes one; set {VARIABLE} to it, "
                "the same for API, workers and commands."
            )
        return self._fernet
