"""What an untrusted program may use of the machine."""

from dataclasses import dataclass


class SandboxError(RuntimeError):
    """The sandbox itself failed or was refused by the machine; nothing is known about the program."""


@dataclass(frozen=True, kw_only=True)
class Limits:
    """What one program may use."""

    cpu_seconds: int = 5
    """Of each of its processes."""
    wall_seconds: float = 10.0
    memory_bytes: int = 512 << 20
    """Of all its processes together, looked at every 20 ms; a single process cannot go beyond it at all."""
    file_bytes: int = 16 << 20
    """All that it writes into its folder."""
    num_processes: int = 8
    """Threads count too."""
    num_files: int = 64
    output_bytes: int = 64 << 10
    """Kept of standard output and of standard error each."""
    require_namespaces: bool = True
    """False accepts, on every machine, a program that can reach the network and read what its user can read."""


COMPILE_LIMITS = Limits(
    cpu_seconds=60, wall_seconds=120, memory_bytes=2 << 30, file_bytes=256 << 20, num_processes=64, num_files=1024
)
"""What each step of a compiler may use; the program has no part in it but its text."""
