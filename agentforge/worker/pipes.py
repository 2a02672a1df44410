"""The pipes of a command's standard streams, for guards that no subprocess of asyncio stands for."""

import asyncio
import os
from asyncio.streams import FlowControlMixin
from dataclasses import dataclass, field
from typing import IO, Final

PIECE_BYTES: Final = 65_536


@dataclass(slots=True)
class Pipes:
    """Our ends; `stdin` is None where the command's is empty."""

    stdout: asyncio.StreamReader
    stderr: asyncio.StreamReader
    stdin: asyncio.StreamWriter | None = None
    transports: list[asyncio.BaseTransport] = field(default_factory=list)

    async def read(self, file: IO[bytes], reader: asyncio.StreamReader) -> None:
        loop = asyncio.get_running_loop()
        transport, _ = await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), file)
        self.transports.append(transport)

    async def write(self, file: IO[bytes]) -> None:
        loop = asyncio.get_running_loop()
        transport, protocol = await loop.connect_write_pipe(FlowControlMixin, file)
        self.transports.append(transport)
        self.stdin = asyncio.StreamWriter(transport, protocol, None, loop)

    def close(self) -> None:
        for transport in self.transports:
            transport.close()


@dataclass(slots=True)
class Ends:
    """Descriptors of both ends; those that were not opened as streams are closed with `close`."""

    theirs: list[int] = field(default_factory=list)
    ours: list[int] = field(default_factory=list)

    @classmethod
    def new(cls, *, has_stdin: bool) -> "Ends":
        """Of standard input, or /dev/null in its place, output and error. Raises OSError."""
        ends = cls()
        try:
            if has_stdin:
                ends._add(*os.pipe())
            else:
                ends.theirs.append(os.open(os.devnull, os.O_RDONLY))
            for _ in range(2):
                reading, writing = os.pipe()
                ends._add(writing, reading)
        except OSError:
            ends.close()
            raise
        return ends

    def _add(self, theirs: int, ours: int) -> None:
        self.theirs.append(theirs)
        self.ours.append(ours)

    def close(self) -> None:
        for descriptor in (*self.theirs, *self.ours):
            os.close(descriptor)
        self.theirs, self.ours = [], []

    async def opened(self) -> Pipes:
        """Our ends as streams."""
        stderr, stdout, stdin = self.ours.pop(), self.ours.pop(), self.ours.pop() if self.ours else None
        pipes = Pipes(asyncio.StreamReader(limit=PIECE_BYTES), asyncio.StreamReader(limit=PIECE_BYTES))
        files = [os.fdopen(descriptor, "rb", buffering=0) for descriptor in (stdout, stderr)]
        if stdin is not None:
            files.append(os.fdopen(stdin, "wb", buffering=0))
        try:
            await pipes.read(files[0], pipes.stdout)
            await pipes.read(files[1], pipes.stderr)
            if stdin is not None:
                await pipes.write(files[2])
        except BaseException:
            pipes.close()
            for file in files[len(pipes.transports) :]:
                file.close()
            raise
        return pipes
