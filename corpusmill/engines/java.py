"""The Java that Spark needs: found and checked before anything is started."""

import os
import re
import shutil
import subprocess
from pathlib import Path

from corpusmill.engines.service import EngineStartError

MINIMUM_VERSION = 17
"""Spark 4.3 runs on Java 17 and newer (https://spark.apache.org/docs/latest/)."""
_ADVICE = "install one (Debian and Ubuntu: apt install openjdk-17-jre-headless; macOS: brew install openjdk@17) or set JAVA_HOME"


def find_java() -> Path:
    """Return the java program that Spark will use; raises EngineStartError where there is none or it is too old."""
    home = os.environ.get("JAVA_HOME")
    found = Path(home, "bin", "java") if home else shutil.which("java")
    if found is None:
        raise EngineStartError(f"Spark needs Java {MINIMUM_VERSION}, and there is no java on the PATH; {_ADVICE}")
    java = Path(found)
    if not java.exists():
        raise EngineStartError(f"Spark needs Java {MINIMUM_VERSION}, and JAVA_HOME={home} has no bin/java; {_ADVICE}")
    version, said = _version(java)
    if version is None or version < MINIMUM_VERSION:
        raise EngineStartError(
            f"Spark needs Java {MINIMUM_VERSION} or newer, and {java} is {said or 'no Java that answers'}; {_ADVICE}"
        )
    return java


def _version(java: Path) -> tuple[int | None, str]:
    try:
        run = subprocess.run([java, "-version"], capture_output=True, text=True, timeout=60, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        return None, str(error)
    said = (run.stderr + run.stdout).strip().splitlines()
    first = said[0] if said else ""
    # "1.8.0_392" was version 8; since 9 the first number is the version.
    found = re.search(r'version "(?:1\.)?(\d+)', first)
    return (int(found.group(1)) if found else None), first
