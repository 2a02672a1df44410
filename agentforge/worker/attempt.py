"""Executes one attempt: a real agent on a real world, then its evaluator."""

import asyncio
from collections.abc import Callable
from typing import Final

from agentforge.worker import atif
from agentforge.worker.evaluation import evaluate
from agentforge.worker.files import Kept, KeptFile, keep_files, read_trajectory
from agentforge.worker.log import Log, LogStream
from agentforge.worker.outcome import (
    REDACTION_FAILED,
    Ending,
    EvaluatorFailedError,
    Outcome,
    Score,
    conclude,
    not_redacted,
    short_detail,
)
from agentforge.worker.processes import CannotStartError, Process, describe_exit
from agentforge.worker.redaction import Redactor
from agentforge.worker.relay import Relay
from agentforge.worker.room import Attempt, Room, passed_variables
from agentforge.worker.steps import Recorder

__all__ = ["Attempt", "Outcome", "execute"]

OUTPUT_BYTES: Final = 64 * 1024 * 1024
#: How long a world that never answers may have kept an agent waiting before what the agent then does is put down to it.
DEAD_SECONDS: Final = 10.0


async def execute(attempt: Attempt, stop: asyncio.Event) -> Outcome:
    """Runs world, agent and evaluator, and leaves no process behind, however it ends.

    When `stop` is set everything is ended and the outcome is `cancelled`, with the steps so far. Raises
    OSError when the attempt's own folder cannot be written; everything else that goes wrong is an outcome.
    """
    execution = _Execution(attempt)
    work = asyncio.create_task(execution.run())
    stopping = asyncio.create_task(stop.wait())
    try:
        await asyncio.wait({work, stopping}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        work.cancel()
        stopping.cancel()
        await asyncio.wait({work, stopping})
        execution.close()
    ending, score = (Ending("cancelled"), Score(reward=None)) if work.cancelled() else work.result()
    return await execution.outcome(ending, score)


class _Execution:
    def __init__(self, attempt: Attempt) -> None:
        self._attempt = attempt
        self._limits = attempt.manifest.limits
        self._verdict: asyncio.Future[Ending] = asyncio.get_running_loop().create_future()
        passed = passed_variables()
        self._passed = {**passed, **attempt.secrets}
        values = [*passed.values(), *attempt.secrets.values()]
        self._redactor = Redactor(values, lambda: self._decide(REDACTION_FAILED))
        self._log = Log(self._limits.log_bytes, self._redactor)
        self._room = Room(attempt)
        self._recorder = Recorder(self._room.steps, self._limits.observation_bytes, self._redactor, attempt.steps)
        self._output_left = OUTPUT_BYTES
        self._world_log_left = OUTPUT_BYTES

    def close(self) -> None:
        self._recorder.close()
        self._room.close()

    async def run(self) -> tuple[Ending, Score]:
        ending = await self._run_world()
        if not ending.is_scored:
            return conclude(ending, None)
        self._attempt.parts.enter("evaluator")
        self._recorder.rewrite()
        try:
            return conclude(ending, await evaluate(self._room, self._log, self._redactor))
        except EvaluatorFailedError as error:
            return conclude(ending, error)

    async def _run_world(self) -> Ending:
        self._attempt.parts.enter("world")
        try:
            world = await Process.start(
                self._room.world_command(),
                env=self._room.world_environment(),
                cwd=self._room.world,
                bounds=self._room.world_bounds(),
                exceeded=self._end_world,
                stderr=self._log_stream("[world] ", self._count_world_log),
            )
        except CannotStartError as error:
            return Ending("errored", "environment_failed", f"the environment cannot start: {error}")
        stray_lines = self._log_stream("[world] ")
        relay = Relay(world, self._room.socket, self._recorder, stray_lines, self._limits.steps, self._decide)
        async with world, relay:
            return await self._run_agent(relay)

    async def _run_agent(self, relay: Relay) -> Ending:
        self._attempt.parts.enter("agent")
        try:
            agent = await Process.start(
                self._room.agent_command(),
                env=self._room.agent_environment(self._passed),
                cwd=self._room.workspace,
                bounds=self._room.agent_bounds(),
                exceeded=self._end_agent,
                stdout=self._log_stream("[agent] ", self._count_output),
                stderr=self._log_stream("[agent] ", self._count_output),
            )
        except CannotStartError as error:
            return Ending("errored", "agent_crashed", f"the agent cannot start: {error}")
        async with agent:
            seconds = self._limits.seconds
            late = Ending("timed_out", "agent_timeout", f"the agent ran longer than {seconds:g} s")
            timer = asyncio.get_running_loop().call_later(seconds, self._decide, late)
            end = asyncio.create_task(self._await_end(agent))
            try:
                return self._cause(await self._verdict, relay)
            finally:
                timer.cancel()
                end.cancel()

    async def _await_end(self, agent: Process) -> None:
        code = await agent.ended()
        if code == 0:
            self._decide(Ending("completed"))
        else:
            self._decide(Ending("errored", "agent_crashed", f"the agent {describe_exit(code)}"))

    def _cause(self, ending: Ending, relay: Relay) -> Ending:
        """An agent that gives up on a world which never answered did not fail of its own."""
        gave_up = ending.category in ("agent_timeout", "agent_crashed")
        if gave_up and relay.is_dead(min(DEAD_SECONDS, self._limits.seconds / 2)):
            return Ending("errored", "environment_failed", "the environment answered nothing that it was asked")
        return ending

    def _end_world(self, _: str, deed: str) -> None:
        self._decide(Ending("errored", "environment_failed", f"the environment {deed}"))

    def _end_agent(self, kind: str, deed: str) -> None:
        self._decide(Ending("errored", f"{kind}_limit", f"the agent {deed}"))

    def _decide(self, ending: Ending) -> None:
        """The first cause counts; what follows from it does not."""
        if not self._verdict.done():
            self._verdict.set_result(ending)

    def _log_stream(self, prefix: str, count: Callable[[int], None] | None = None) -> LogStream:
        return LogStream(self._log, prefix, self._redactor, count)

    def _count_world_log(self, size: int) -> None:
        self._world_log_left -= size
        if self._world_log_left < 0:
            reason = f"the environment logged more than {OUTPUT_BYTES} bytes"
            self._decide(Ending("errored", "environment_failed", reason))

    def _count_output(self, size: int) -> None:
        self._output_left -= size
        if self._output_left < 0:
            self._decide(Ending("errored", "output_limit", f"the agent wrote more than {OUTPUT_BYTES} bytes"))

    async def outcome(self, ending: Ending, score: Score) -> Outcome:
        outcome = await self._redacted(ending, score)
        return not_redacted(self._redactor.failure) if self._redactor.failure else outcome

    def _left(self) -> tuple[KeptFile | None, Kept]:
        workspace, patterns = self._room.workspace, self._attempt.manifest.artifacts
        trajectory = read_trajectory(workspace, self._redactor)
        return trajectory, keep_files(workspace, patterns, self._limits.artifact_bytes, self._redactor)

    async def _redacted(self, ending: Ending, score: Score) -> Outcome:
        self._attempt.parts.enter("keeping")
        trajectory, kept = await asyncio.to_thread(self._left)
        self._log.add("".join(f"[worker] {remark}\n" for remark in kept.remarks))
        detail = ending.detail and self._redactor.text(ending.detail)
        return Outcome(
            status=ending.status,
            reward=score.reward,
            failure_category=ending.category,
            failure_detail=short_detail(detail),
            stages=score.stages,
            metrics=score.metrics,
            log=self._log.text(),
            steps=self._recorder.steps,
            agent_trajectory=None if trajectory is None else trajectory.content,
            atif=await atif.judge(trajectory),
            files=kept.files,
            # Last, when everything has been redacted.
            redactions=self._redactor.count,
        )
