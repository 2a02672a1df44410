"""What the kernel lets root do without any capability, a sandbox of a worker that is root does not."""

from agentforge.worker.sandbox import Sandbox
from tests.worker.conftest import Bench
from tests.worker.test_outcomes import facts
from tests.worker.test_sandbox import inside, left, run, sandbox

__all__ = ["sandbox"]


async def test_nothing_of_proc_can_be_written(bench: Bench, sandbox: Sandbox) -> None:
    """`/proc/sys/kernel/core_pattern` names a program that the kernel runs outside, as root."""
    agent = """
    writable = []
    for top, folders, files in os.walk("/proc"):
        folders[:] = [name for name in folders if not (top == "/proc" and name[0].isdigit())]
        for name in files:
            try:
                os.close(os.open(os.path.join(top, name), os.O_WRONLY | os.O_NONBLOCK))
                writable.append(os.path.join(top, name))
            except OSError:
                pass
    Path("trajectory.json").write_text(json.dumps([writable, os.path.exists("/proc/sys/kernel/core_pattern")]))
    """
    outcome = await run(inside(bench.attempt(agent), sandbox))
    assert left(outcome) == [[], True]


async def test_the_guard_cannot_be_traced(bench: Bench, sandbox: Sandbox) -> None:
    """Who traces it could stop its measurements, and report what he likes in its name."""
    agent = """
    import ctypes
    attach = 16
    found = {"attached": ctypes.CDLL(None).ptrace(attach, 1, 0, 0)}
    for name in ("mem", "environ", "maps"):
        try:
            found[name] = bool(open(f"/proc/1/{name}", "rb").read(1))
        except PermissionError:
            found[name] = "refused"
    Path("trajectory.json").write_text(json.dumps(found))
    """
    outcome = await run(inside(bench.attempt(agent), sandbox))
    assert facts(outcome) == ("completed", 1.0, None)
    assert left(outcome) == {"attached": -1, "mem": "refused", "environ": "refused", "maps": "refused"}
