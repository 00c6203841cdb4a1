"""A window over a stream of bytes: look ahead, take, find, without holding more than is asked for."""

import re
from collections.abc import Callable

from corpusmill.read.compressed import CHUNK_BYTES, DamagedMemberError, MemberStream

OVERLAP_BYTES = 4096
"""Patterns need at most this many bytes behind their beginning: the longest line that begins a record of an ARC file."""


class ByteWindow:
    """Bytes of one member from `position` on. Damage in the compression ends the bytes and is remembered."""

    def __init__(self, open_at: Callable[[int], MemberStream], position: int = 0) -> None:
        self.damage: str | None = None
        self._open_at = open_at
        self._open(position)

    @property
    def is_complete(self) -> bool:
        """Whether all bytes were read and the member's own end was reached."""
        return self._is_at_end and self._stream.is_complete

    @property
    def is_compressed(self) -> bool:
        return self._stream.is_compressed

    @property
    def end(self) -> int:
        """Offset in the file behind the member; right once all bytes were read."""
        return self._stream.end

    def peek(self, num_bytes: int) -> bytes:
        """Return the next `num_bytes`, fewer at the end, and stay."""
        while len(self._buffer) < num_bytes and self._fill():
            pass
        return bytes(self._buffer[:num_bytes])

    def take(self, num_bytes: int) -> bytes:
        """Return the next `num_bytes`, fewer at the end, and move behind them."""
        data = self.peek(num_bytes)
        self._drop(len(data))
        return data

    def skip_newlines(self) -> None:
        while (data := self.peek(64)) and data[0] in b"\r\n":
            self._drop(len(data) - len(data.lstrip(b"\r\n")))

    def pass_over(self, num_bytes: int, pattern: re.Pattern[bytes], literal: bytes) -> int | None:
        """Move over `num_bytes`, or to the end; return where `pattern` first began in them, or None.

        `literal` is in every match: bytes without it are not searched, which is ten times faster.
        """
        found: int | None = None
        target = self.position + num_bytes
        while self.position < target and (data := self.peek(CHUNK_BYTES + OVERLAP_BYTES)):
            moved = min(CHUNK_BYTES, len(data), target - self.position)
            match = pattern.search(data) if found is None and literal in data else None
            if match and match.start() < moved:
                found = self.position + match.start()
            self._drop(moved)
        return found

    def move_to_next(self, pattern: re.Pattern[bytes]) -> None:
        """Move to where `pattern` next begins, or to the end."""
        while data := self.peek(CHUNK_BYTES + OVERLAP_BYTES):
            match = pattern.search(data)
            if match and match.start() < CHUNK_BYTES:
                self._drop(match.start())
                return
            self._drop(min(CHUNK_BYTES, len(data)))

    def move_to(self, position: int) -> None:
        """Go to `position`; going back reads the member again from its start."""
        if position < self.position:
            self._open(position)
        while self.position < position and self.take(min(CHUNK_BYTES, position - self.position)):
            pass

    def _open(self, position: int) -> None:
        self.position = position
        self._stream = self._open_at(position)
        self._buffer = bytearray()
        self._is_at_end = False

    def _drop(self, num_bytes: int) -> None:
        del self._buffer[:num_bytes]
        self.position += num_bytes

    def _fill(self) -> bool:
        if self._is_at_end:
            return False
        try:
            data = self._stream.read()
        except DamagedMemberError as error:
            self.damage = str(error)
            data = b""
        self._is_at_end = not data
        self._buffer += data
        return bool(data)
