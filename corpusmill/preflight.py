"""What this machine must have before anything is installed or started, and what to do where it lacks it.

`python3 -m corpusmill.preflight FOLDER` runs before the first package is there, perhaps on a Python that is too old:
only the standard library belongs here, in words that an old Python can read.
"""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

PYTHON_RANGE = ((3, 11), (3, 15))
JAVA_RANGE = (17, 22)
"""Spark 4.3 is built for Java 17 and tested on 21."""
PLATFORMS = ("Linux x86_64", "Linux aarch64", "Darwin arm64")
DISK_GB = 10
"""The environment takes 5 GB, pip's cache of it 2 GB, the sample and the demo's lake under 1 GB."""
MEMORY_GB = 8
"""Spark's driver, a Ray head and one vLLM engine with a 135M model, side by side."""


class Finding(NamedTuple):
    """One thing that was looked at. `remedy` is what to do about it, empty where all is well."""

    name: str
    wanted: str
    got: str
    remedy: str


def check_python(version: tuple[int, ...]) -> Finding:
    """Judge `version` (major, minor, ...) of the Python that will run everything."""
    first, after_last = PYTHON_RANGE
    wanted = f"{_dotted(first)} to {after_last[0]}.{after_last[1] - 1}"
    is_good = first <= version[:2] < after_last
    remedy = f"install Python {_dotted(first)} (Debian: apt-get install python3 python3-venv) or set PYTHON=/path/to/it"
    return Finding("Python", wanted, _dotted(version[:3]), "" if is_good else remedy)


def check_java(answer: str | None) -> Finding:
    """Judge what `java -version` said; None where there is no java."""
    first, after_last = JAVA_RANGE
    found = re.search(r'version "(\d+)(?:\.(\d+))?', answer or "")
    major = int(found.group(1)) if found else 0
    if found and major == 1:  # 1.8 is Java 8
        major = int(found.group(2) or 0)
    wanted = f"{first} to {after_last - 1}"
    remedy = (
        f"install Java {first} (Debian: apt-get install openjdk-17-jre-headless; macOS: brew install openjdk@17) "
        "and put it on PATH or set JAVA_HOME"
    )
    got = str(major) if found else "none"
    return Finding("Java", wanted, got, "" if first <= major < after_last else remedy)


def check_platform(name: str) -> Finding:
    """Judge system and machine, such as `Linux x86_64`: the lock has packages for these only."""
    wanted = " or ".join(PLATFORMS)
    remedy = "use such a machine; on Windows, WSL 2 is one"
    return Finding("platform", wanted, name, "" if name in PLATFORMS else remedy)


def check_disk(free_bytes: int, folder: str) -> Finding:
    """Judge the space left where `folder` lies."""
    remedy = f"free {DISK_GB} GB on the disk of {folder} or clone to a larger one"
    return _amount("disk", free_bytes, DISK_GB, remedy)


def check_memory(total_bytes: int) -> Finding:
    """Judge the memory of the machine, or of the container that we are in."""
    remedy = f"use a machine or container with {MEMORY_GB} GB of memory"
    return _amount("memory", total_bytes, MEMORY_GB, remedy)


def look(folder: str, *, is_installed: bool) -> list[Finding]:
    """Look at this machine. An environment that is already there needs no more disk."""
    findings = [
        check_platform(f"{platform.system()} {platform.machine()}"),
        check_python(sys.version_info[:3]),
        check_java(java_answer()),
        check_memory(memory_bytes()),
    ]
    if not is_installed:
        findings.append(check_disk(shutil.disk_usage(folder).free, folder))
    return findings


def report(findings: list[Finding]) -> str:
    """One line a finding that needs something done; empty where all is well."""
    lines = [f"{one.name}: wanted {one.wanted}, got {one.got}. To do: {one.remedy}." for one in findings if one.remedy]
    return "\n".join(lines)


def check_machine(folder: Path) -> None:
    """Raise ValueError that says what this machine lacks to run on data in `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    problems = report(look(str(folder), is_installed=True))
    if problems:
        raise ValueError(problems)


def java_answer() -> str | None:
    """What the java that Spark will start says of its version; None where none starts."""
    home = os.environ.get("JAVA_HOME")
    java = str(Path(home) / "bin" / "java") if home else "java"
    try:
        done = subprocess.run([java, "-version"], capture_output=True, text=True, timeout=60, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stderr + done.stdout


def memory_bytes() -> int:
    """Memory of the machine, or the container's limit where that is lower."""
    total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    limits = [total]
    for file in ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"):
        try:
            text = Path(file).read_text(encoding="ascii").strip()
        except OSError:
            continue
        if text.isdigit():
            limits.append(int(text))
    return min(limits)


def main() -> int:
    folder = sys.argv[1] if len(sys.argv) > 1 else "."
    is_installed = (Path(folder) / ".venv" / "installed").exists()
    problems = report(look(folder, is_installed=is_installed))
    if problems:
        print("This machine cannot run Corpusmill yet.\n" + problems, file=sys.stderr)
    return 1 if problems else 0


def _amount(name: str, num_bytes: int, wanted_gb: int, remedy: str) -> Finding:
    # 7.7 GiB is what a machine sold as 8 GB shows
    is_enough = num_bytes >= 0.95 * wanted_gb * 1e9
    return Finding(name, f"{wanted_gb} GB", f"{num_bytes / 1e9:.1f} GB", "" if is_enough else remedy)


def _dotted(version: tuple[int, ...]) -> str:
    return ".".join(str(part) for part in version)


if __name__ == "__main__":
    sys.exit(main())
