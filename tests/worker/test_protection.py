"""An operator is told what a machine cannot hold agents to."""

import os
import sys

import pytest

from agentforge.worker import protection


def test_who_has_all_that_is_used_is_told_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert protection.gaps(sandboxed=False) == []
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(protection, "_capabilities", lambda: 1 << 23)
    assert protection.gaps(sandboxed=False) == []


def test_root_without_privileges_is_told_of_bombs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(protection, "_capabilities", lambda: 0xA80425FB)  # those of an ordinary container
    (gap,) = protection.gaps(sandboxed=False)
    assert "a fork bomb may take minutes to end" in gap
    assert protection.gaps(sandboxed=True) == []


def test_other_systems_are_told_of_orphans(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    (gap,) = protection.gaps(sandboxed=False)
    assert "Only Linux tells of orphans" in gap


@pytest.mark.skipif(sys.platform != "linux", reason="there is no /proc")
def test_capabilities_are_read() -> None:
    assert (protection._capabilities() != 0) >= (os.geteuid() == 0)
