"""The check of the machine: each finding says what was wanted, what was got and what to do."""

import subprocess
import sys
from pathlib import Path

import pytest

from corpusmill import preflight

JAVA_17 = 'openjdk version "17.0.15" 2025-04-15\nOpenJDK Runtime Environment (build 17.0.15+6)'


@pytest.mark.parametrize(
    ("version", "is_good"),
    [((3, 10, 14), False), ((3, 11, 0), True), ((3, 14, 2), True), ((3, 15, 0), False), ((2, 7, 18), False)],
)
def test_python(version, is_good):
    assert (preflight.check_python(version).remedy == "") == is_good


@pytest.mark.parametrize(
    ("answer", "got", "is_good"),
    [
        (JAVA_17, "17", True),
        ('openjdk version "21.0.2" 2024-01-16', "21", True),
        ('java version "1.8.0_392"', "8", False),
        ('openjdk version "11.0.2" 2019-01-15', "11", False),
        ('openjdk version "25" 2025-09-16', "25", False),
        ("The operation couldn't be completed. Unable to locate a Java Runtime.", "none", False),
        (None, "none", False),
    ],
)
def test_java(answer, got, is_good):
    finding = preflight.check_java(answer)
    assert (finding.got, finding.remedy == "") == (got, is_good)


def test_no_java_says_how_to_get_it():
    assert preflight.report([preflight.check_java(None)]) == (
        "Java: wanted 17 to 21, got none. To do: install Java 17 (Debian: apt-get install openjdk-17-jre-headless; "
        "macOS: brew install openjdk@17) and put it on PATH or set JAVA_HOME."
    )


def test_too_little_disk_and_memory_name_the_folder_and_the_amount():
    findings = [preflight.check_disk(3_000_000_000, "/data"), preflight.check_memory(4_000_000_000)]
    assert preflight.report(findings).splitlines() == [
        "disk: wanted 10 GB, got 3.0 GB. To do: free 10 GB on the disk of /data or clone to a larger one.",
        "memory: wanted 8 GB, got 4.0 GB. To do: use a machine or container with 8 GB of memory.",
    ]


def test_a_machine_sold_as_8_gb_is_enough():
    assert preflight.check_memory(int(7.7 * 2**30)).remedy == ""


def test_a_platform_without_packages_is_refused():
    assert preflight.check_platform("Linux x86_64").remedy == ""
    assert preflight.check_platform("Darwin x86_64").remedy != ""


def test_set_up_stops_before_it_installs_when_java_is_missing(tmp_path):
    """The real first step of `make setup`, with a JAVA_HOME that has no java."""
    root = Path(preflight.__file__).parents[1]
    done = subprocess.run(
        [sys.executable, "-m", "corpusmill.preflight", str(tmp_path)],
        cwd=root,
        env={"JAVA_HOME": str(tmp_path), "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert "Java: wanted 17 to 21, got none" in done.stderr
    assert "Traceback" not in done.stderr
