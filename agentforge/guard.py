"""Refuses to start when another package has taken the place of one of ours, whose names are common ones."""

import base64
import hashlib
from importlib.metadata import PackageNotFoundError, distribution, packages_distributions
from importlib.util import find_spec
from pathlib import Path

ROOT_PACKAGES = ("agentforge", "schema", "resolvers", "streaming", "db", "web", "examples")

_HOME = Path(__file__).resolve().parents[1]
_REMEDY = "install AgentForge in a virtual environment of its own"


def refuse_shadowed_packages() -> None:
    """Exit with an explanation unless each root package is the one that came with this module.

    Compares places and recorded hashes, in about 3 ms; reading what all distributions provide takes 60 ms
    (time both with `python -m timeit`), so that is left to the explanation.
    """
    recorded = _recorded_hashes()
    for package in ROOT_PACKAGES:
        expected = _HOME / package / "__init__.py"
        found = _origin(package)
        if found != expected:
            raise SystemExit(_explain(package, f"is {found}" if found else "cannot be found", expected))
        if recorded.get(package, "") not in ("", _hash(expected)):
            raise SystemExit(_explain(package, "was overwritten", expected))


def _origin(package: str) -> Path | None:
    """The file that `import package` runs, without running it."""
    spec = find_spec(package)
    return Path(spec.origin).resolve() if spec is not None and spec.origin is not None else None


def _recorded_hashes() -> dict[str, str]:
    """What the installation recorded of each root package's `__init__.py`; nothing for an editable one."""
    try:
        files = distribution("agentforge").files or []
    except PackageNotFoundError:
        return {}
    roots = {f"{package}/__init__.py": package for package in ROOT_PACKAGES}
    return {roots[str(file)]: file.hash.value for file in files if str(file) in roots and file.hash}


def _hash(file: Path) -> str:
    digest = hashlib.sha256(file.read_bytes()).digest()
    return base64.urlsafe_b64encode(digest).rstrip(b"=").decode()


def _explain(package: str, fault: str, expected: Path) -> str:
    message = f"AgentForge cannot start: its package {package!r} should be {expected} but {fault}."
    others = [name for name in packages_distributions().get(package, []) if name != "agentforge"]
    if others:
        names = ", ".join(sorted(set(others)))
        return f"{message}\nThe distribution {names} provides {package!r} too: uninstall it, or {_REMEDY}."
    return f"{message}\nStart in another folder, take the other {package!r} out of PYTHONPATH, or {_REMEDY}."
