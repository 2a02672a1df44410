"""Bundles: an environment's own files, as one archive named by its SHA-256."""

from dataclasses import dataclass

from db.query import query


@dataclass(frozen=True, slots=True)
class BundleName:
    sha256: str


@dataclass(frozen=True, slots=True)
class BundleContent:
    content: bytes


PUT = query("bundles.put", BundleName)
CONTENT = query("bundles.content", BundleContent)
EXISTS = query("bundles.exists", BundleName)
