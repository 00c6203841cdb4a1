"""Streams of decompressed bytes over files of one or many compressed members, in bounded memory.

A member is one gzip member, one lz4 frame or one zstd frame; an uncompressed file counts as one member. Decompressors
are fed and drained in pieces, so that a small file that inflates to terabytes costs time, never memory.
"""

import zlib
from typing import Protocol

from corpusmill.read.source_file import InputFile

CHUNK_BYTES = 1 << 18

_ZSTD_PIECE_BYTES = 512
"""A zstd block of 4 bytes can stand for 128 KiB, so this much input gives at most 16 MiB."""

_MAGIC = {b"\x1f\x8b": "gzip", b"\x04\x22\x4d\x18": "lz4", b"\x28\xb5\x2f\xfd": "zstd"}


class Decompressor(Protocol):
    """What zlib, lz4 and zstd have in common here."""

    @property
    def eof(self) -> bool: ...

    @property
    def unused_data(self) -> bytes | None: ...

    def decompress(self, data: bytes, max_length: int, /) -> bytes: ...


class DamagedMemberError(Exception):
    """A compressed member's bytes make no sense from some point on."""


def codec_of(file: InputFile) -> str | None:
    """Return `gzip`, `lz4` or `zstd` by the file's first bytes, or None for a plain file. The file is rewound."""
    file.seek(0)
    head = file.read(4)
    file.seek(0)
    return next((codec for magic, codec in _MAGIC.items() if head.startswith(magic)), None)


class MemberStream:
    """The decompressed bytes of the member that starts at `start`; ends with the member or with the file.

    `end` is the offset behind the member, known once `read` has returned all of it; `is_complete` says whether the
    member's own end was reached.
    """

    def __init__(self, file: InputFile, start: int, codec: str | None) -> None:
        self.start = start
        self.is_complete = False
        self._file = file
        self._position = start
        self._decompressor = _open_decompressor(codec) if codec else None
        self._pending = b""
        self._is_exhausted = False
        self._unused = 0

    @property
    def is_compressed(self) -> bool:
        return self._decompressor is not None

    @property
    def end(self) -> int:
        return self._position - self._unused

    def read(self, num_bytes: int = CHUNK_BYTES) -> bytes:
        """Return up to `num_bytes` further bytes; empty at the end. Raises DamagedMemberError."""
        if self._decompressor is None:
            return self._read_plain(num_bytes)
        # A call may give nothing and still have moved on: only an exhausted file ends the loop.
        while not self.is_complete:
            data = self._inflate(num_bytes)
            if data:
                return data
            if self._is_exhausted and not self._pending:
                return b""
        return b""

    def skip(self, num_bytes: int) -> int:
        """Pass over `num_bytes`; return how many there were."""
        skipped = 0
        while skipped < num_bytes:
            data = self.read(min(CHUNK_BYTES, num_bytes - skipped))
            if not data:
                break
            skipped += len(data)
        return skipped

    def _read_plain(self, num_bytes: int) -> bytes:
        self._file.seek(self._position)
        data = bytes(self._file.read(num_bytes))
        self._position += len(data)
        self.is_complete = not data
        return data

    def _inflate(self, num_bytes: int) -> bytes:
        assert self._decompressor is not None
        needs_input = getattr(self._decompressor, "needs_input", True)
        if needs_input and not self._pending and not self._is_exhausted:
            self._file.seek(self._position)
            self._pending = bytes(self._file.read(CHUNK_BYTES))
            self._position += len(self._pending)
            self._is_exhausted = not self._pending
        data, self._pending = _decompress(self._decompressor, self._pending, num_bytes)
        if self._decompressor.eof:
            self.is_complete = True
            self._unused = len(self._decompressor.unused_data or b"")
        return data


def _decompress(decompressor: Decompressor, pending: bytes, num_bytes: int) -> tuple[bytes, bytes]:
    try:
        data = decompressor.decompress(pending, num_bytes)
    except _damage_errors() as error:
        raise DamagedMemberError(str(error)) from error
    return data, getattr(decompressor, "unconsumed_tail", b"")


def _open_decompressor(codec: str) -> Decompressor:
    if codec == "gzip":
        return zlib.decompressobj(31)
    if codec == "lz4":
        import lz4.frame

        return lz4.frame.LZ4FrameDecompressor()
    return _ZstdFrame()


def _damage_errors() -> tuple[type[Exception], ...]:
    import zstandard

    return (zlib.error, RuntimeError, EOFError, zstandard.ZstdError)


class _ZstdFrame:
    """One zstd frame, with the interface of zlib's decompressor.

    zstandard has no output limit on a frame's decompressor; small input pieces bound what one call can return.
    """

    def __init__(self) -> None:
        import zstandard

        self._frame = zstandard.ZstdDecompressor(max_window_size=1 << 27).decompressobj()
        self._tail = b""

    @property
    def eof(self) -> bool:
        return bool(self._frame.eof)

    @property
    def unused_data(self) -> bytes:
        return bytes(self._frame.unused_data) + self._tail

    @property
    def unconsumed_tail(self) -> bytes:
        return b"" if self.eof else self._tail

    def decompress(self, data: bytes, max_length: int) -> bytes:
        piece, self._tail = data[:_ZSTD_PIECE_BYTES], data[_ZSTD_PIECE_BYTES:]
        return bytes(self._frame.decompress(piece))
