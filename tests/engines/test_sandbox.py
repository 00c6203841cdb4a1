"""Untrusted programs meet real walls. All ordinary programs share one jail, as a batch does."""

import os
import shutil
import signal
import subprocess
import sys
import time
import uuid
from pathlib import Path

import psutil
import pytest

from corpusmill.engines.sandbox import (
    DoctestJob,
    Limits,
    SandboxError,
    run_doctest_jobs,
    run_doctests,
    run_programs,
    run_python,
)

ROOT = Path(__file__).parents[2]
NOBODY = 65534
PATHS = {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": "/"}
MARK = f"mark-{uuid.uuid4().hex}"
LIMITS = Limits(cpu_seconds=1, wall_seconds=5, num_processes=6, file_bytes=1 << 20, output_bytes=1000)

PROGRAMS = {
    "greets": "import sys\nprint('out')\nprint('err', file=sys.stderr)",
    "leaves": "import sys\nsys.exit(7)",
    "leaves with words": "raise SystemExit('no more')",
    "raises": "def f():\n    raise ValueError('no')\nf()",
    "does not parse": "def (",
    "aborts": "import os\nos.abort()",
    "counts for ever": "while True: pass",
    "fork bomb": (
        "import os, time\nn = 0\ntry:\n    while True:\n        if os.fork() == 0:\n            time.sleep(600)\n"
        "        n += 1\nexcept OSError:\n    print(n)"
    ),
    "takes 2 GB": "x = bytearray(2 << 30)",
    "calls the network": "import socket\nsocket.create_connection(('192.0.2.1', 80), timeout=2)",
    "asks for a name": "import socket\nsocket.getaddrinfo('example.org', 80)",
    "writes outside": "open('/usr/lib/mark', 'w')",
    "writes into its folder": (
        "import tempfile\nwith tempfile.TemporaryFile() as f: f.write(b'x')\nprint(open('a', 'w').write('b'))"
    ),
    "fills the disk": "with open('big', 'wb') as f:\n    for _ in range(9): f.write(bytes(1 << 18)), f.flush()",
    "many files fill the disk": "for n in range(64):\n    with open(str(n), 'wb') as f: f.write(bytes(1 << 18))",
    "reads a file of this machine": f"print(open({str(Path(__file__))!r}).read())",
    "looks into the folder of the one before": "import os\nprint(os.listdir('.'), os.listdir('/tmp'))",
    "environment": "import os\nprint(sorted(os.environ))",
    "rights": "import os\nprint(os.getuid() != 0, os.getgroups() in ([], [os.getgid()]))\nos.setuid(0)",
    "sees processes": "import os\nprint(os.getpid() < 10, os.path.exists('/proc/1'))",
    "kills what it can": (
        "import os, signal\nfor pid in (-1, 1):\n    try:\n        os.kill(pid, signal.SIGKILL)\n"
        "    except OSError: pass\nprint('alive')"
    ),
    "mounts": (
        "import ctypes\nlibc = ctypes.CDLL(None, use_errno=True)\n"
        "print(libc.unshare(0x10000000), libc.mount(b'tmpfs', b'/work', b'tmpfs', 0, None))"
    ),
    "shouts": "print('x' * 1_000_000)",
    "starts a thread": "import threading\nthreading.Timer(0.01, print, ['late']).start()",
    "leaves a child behind": (
        "import subprocess, sys\n"
        f"subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600) # {MARK}'], start_new_session=True)"
    ),
    "still works": "print(sum(range(10)))",
}

DOCUMENTED = '''"""Doubling.

>>> double(4)
8
"""

def double(x):
    """Twice x.

    >>> double(2)
    4
    >>> double(3)
    7
    >>> double()
    0
    >>> double  # doctest: +ELLIPSIS
    <function double at 0x...>
    """
    return x * 2

class Pair:
    def first(self):
        """
        >>> Pair().first()
        1
        """
        return 1
'''


def carriers_of(mark: str) -> list[int]:
    return [
        process.pid for process in psutil.process_iter(["cmdline"]) if mark in " ".join(process.info["cmdline"] or [])
    ]


def wait_until(condition, *, seconds: float = 30) -> None:
    """Wait until the condition holds; it is another process that makes it true."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "the condition did not come true in time"
        time.sleep(0.05)


def namespaces_are_permitted() -> bool:
    command = ["unshare", "--mount", "--net", "--pid", *(["--user"] if os.geteuid() else []), "--fork", "true"]
    return subprocess.run(command, capture_output=True).returncode == 0


@pytest.fixture(scope="module", autouse=True)
def permitted():
    if not namespaces_are_permitted():
        pytest.skip("this machine permits no namespaces")


@pytest.fixture(scope="module")
def results():
    return dict(zip(PROGRAMS, run_programs(list(PROGRAMS.values()), limits=LIMITS), strict=True))


@pytest.mark.parametrize(
    ("program", "exit_code", "stdout"),
    [
        ("greets", 0, "out\n"),
        ("leaves", 7, ""),
        ("leaves with words", 1, ""),
        ("raises", 1, ""),
        ("does not parse", 1, ""),
        ("aborts", -signal.SIGABRT, ""),
        ("fork bomb", 0, "5\n"),
        ("takes 2 GB", 1, ""),
        ("calls the network", 1, ""),
        ("asks for a name", 1, ""),
        ("writes outside", 1, ""),
        ("writes into its folder", 0, "1\n"),
        ("fills the disk", 1, ""),
        ("many files fill the disk", 1, ""),
        ("reads a file of this machine", 1, ""),
        ("looks into the folder of the one before", 0, "[] []\n"),
        ("environment", 0, "['HOME', 'LANG', 'PATH', 'TMPDIR']\n"),
        ("rights", 1, "True True\n"),
        ("sees processes", 0, "True False\n"),
        ("mounts", 0, "-1 -1\n"),
        ("starts a thread", 0, "late\n"),
        ("leaves a child behind", 0, ""),
        ("still works", 0, "45\n"),
    ],
)
def test_a_program_ends_as_it_should(results, program, exit_code, stdout):
    result = results[program]
    assert (result.exit_code, result.stdout, result.timed_out) == (exit_code, stdout, False), result.stderr


@pytest.mark.parametrize(
    ("program", "told"),
    [
        ("greets", "err\n"),
        ("leaves with words", "no more\n"),
        ("raises", '  File "<program>", line 3, in <module>\n  File "<program>", line 2, in f\nValueError: no\n'),
        ("does not parse", "SyntaxError: invalid syntax\n"),
        ("takes 2 GB", "MemoryError\n"),
        ("calls the network", "Network is unreachable\n"),
        ("writes outside", "Read-only file system: '/usr/lib/mark'\n"),
        ("reads a file of this machine", f"No such file or directory: '{__file__}'\n"),
        ("rights", "Operation not permitted\n"),
    ],
)
def test_a_program_says_why(results, program, told):
    assert results[program].stderr.endswith(told)


def test_an_endless_loop_ends(results):
    result = results["counts for ever"]
    assert result.timed_out and result.exit_code < 0 and not result.succeeded


def test_the_wall_clock_ends_what_uses_no_processor():
    result = run_python("import time\nprint('begun', flush=True)\ntime.sleep(600)", limits=Limits(wall_seconds=0.5))
    assert (result.timed_out, result.stdout) == (True, "begun\n")


def test_output_is_bounded(results):
    result = results["shouts"]
    assert (result.stdout, result.is_output_cut, result.exit_code) == ("x" * 1000, True, 0)


def test_no_process_outlives_its_program(results):
    assert results["leaves a child behind"].succeeded
    assert carriers_of(MARK) == []


def test_a_program_cannot_kill_what_watches_it(results):
    assert results["kills what it can"].stdout == "alive\n"
    assert results["still works"].succeeded


@pytest.mark.parametrize("ending", ["the program", "the caller"])
def test_a_kill_takes_the_whole_group(ending):
    mark = f"mark-{uuid.uuid4().hex}"
    program = (
        "import subprocess, sys, time\n"
        f"subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600) # {mark}'], start_new_session=True)\n"
        "time.sleep(600)"
    )
    call = f"from corpusmill.engines.sandbox import *\nrun_python({program!r}, limits=Limits(wall_seconds={{}}))"
    seconds = 3 if ending == "the program" else 600
    caller = subprocess.Popen([sys.executable, "-c", call.format(seconds)], cwd=ROOT)
    try:
        wait_until(lambda: len(carriers_of(mark)) > 1 or caller.poll() is not None)
        if ending == "the caller":
            caller.send_signal(signal.SIGKILL)
        wait_until(lambda: carriers_of(mark) == [])
    finally:
        caller.kill()
        caller.wait()


def test_doctests_tell_every_example():
    run = run_doctests(DOCUMENTED)
    assert run.failure is None
    assert {key: (one.status, one.got) for key, one in run.outcomes.items()} == {
        ("", 0): ("passed", "8\n"),
        ("double", 0): ("passed", "4\n"),
        ("double", 1): ("failed", "6\n"),
        ("double", 2): ("raised", "TypeError: double() missing 1 required positional argument: 'x'\n"),
        ("double", 3): ("passed", "<function double at 0x0>\n"),
        ("Pair.first", 0): ("passed", "1\n"),
    }
    assert run.outcomes["double", 0].source == "double(2)\n"


@pytest.mark.parametrize(
    ("change", "lost"),
    [
        (("return x * 2", "return x + x"), set()),
        (("return x * 2", "return x * 3"), {("", 0), ("double", 0)}),
        (("class Pair", "class Twin"), {("Pair.first", 0)}),
        (("Twice x.", "Two times x."), set()),
    ],
    ids=["same behaviour", "other result", "renamed", "other words"],
)
def test_a_rewrite_is_held_against_the_doctests_of_its_seed(change, lost):
    before, after = run_doctest_jobs(
        [DoctestJob(source=DOCUMENTED), DoctestJob(source=DOCUMENTED.replace(*change), doctests_of=DOCUMENTED)]
    )
    assert before.passed - after.passed == lost


@pytest.mark.parametrize(
    ("source", "failure", "num_outcomes"),
    [
        ("import nowhere", "module_raised", 0),
        ("def (", "module_raised", 0),
        ('"""\n>>> 1\n1\n>>> while True: pass\n"""', "timed_out", 1),
        ('"""\n>>> 1\n1\n>>> import os; os._exit(0)\n"""', "ended_early", 1),
        ("x = 1", None, 0),
    ],
)
def test_doctests_that_do_not_run_to_their_end_say_so(source, failure, num_outcomes):
    run = run_doctests(source, limits=LIMITS)
    assert (run.failure, len(run.outcomes)) == (failure, num_outcomes)


def test_no_programs_need_no_jail():
    assert run_programs([]) == []


def test_without_namespaces_running_is_refused_or_asked_for():
    try:
        result = run_python("print('ran')", limits=Limits(require_namespaces=False))
    except SandboxError as error:
        assert "closed to other users than root" in str(error)
    else:
        assert result.stdout == "ran\n"


def python_for_nobody() -> str:
    for python in (sys.executable, "/usr/bin/python3"):
        probe = [python, "-c", "import sys, corpusmill.engines.sandbox; assert sys.version_info >= (3, 11)"]
        try:
            done = subprocess.run(probe, user=NOBODY, group=NOBODY, extra_groups=[], cwd=ROOT, capture_output=True)
        except OSError:
            continue
        if done.returncode == 0:
            return python
    pytest.skip("no Python 3.11 and copy of this repository that another user may read")


@pytest.mark.skipif(os.geteuid() != 0, reason="every test here already runs as a normal user")
@pytest.mark.parametrize(
    ("program", "said"),
    [
        ("import os\nprint(os.listdir('.'), os.getuid())", "[] 65534"),
        ("import socket\nsocket.create_connection(('192.0.2.1', 80))", "Network is unreachable"),
        ("open('/usr/lib/mark', 'w')", "Read-only file system"),
        ("import ctypes\nprint(ctypes.CDLL(None).umount2(b'/work', 2))", "-1"),
    ],
)
def test_a_normal_user_gets_the_same_walls(program, said):
    call = f"from corpusmill.engines.sandbox import run_python\nr = run_python({program!r})\nprint(r.stdout, r.stderr)"
    command = [python_for_nobody(), "-B", "-c", call]
    done = subprocess.run(
        command, user=NOBODY, group=NOBODY, extra_groups=[], cwd=ROOT, capture_output=True, text=True, env={}
    )
    assert said in done.stdout, done.stderr


@pytest.mark.skipif(os.geteuid() != 0 or shutil.which("g++") is None, reason="takes root and g++")
def test_a_normal_user_compiles_behind_the_same_walls():
    source = '#include <unistd.h>\nint main() { return getuid() == 65534 && access("/etc/passwd", R_OK) ? 3 : 4; }'
    call = (
        "from corpusmill.engines.sandbox import run_programs_in\n"
        "from corpusmill.engines.sandbox_languages import program\n"
        f"[result] = run_programs_in('cpp', [program('cpp', {source!r})])\nprint(result.exit_code, result.stderr)"
    )
    command = [python_for_nobody(), "-B", "-c", call]
    done = subprocess.run(
        command, user=NOBODY, group=NOBODY, extra_groups=[], cwd=ROOT, capture_output=True, text=True, env=PATHS
    )
    assert done.stdout.startswith("3 "), done


@pytest.mark.skipif(os.geteuid() != 0 or shutil.which("setpriv") is None, reason="takes root and setpriv")
def test_root_that_may_not_mount_runs_programs_as_another_user_all_the_same():
    call = (
        "from corpusmill.engines.sandbox import run_python\nr = run_python('import os; print(0 in os.getresuid())')\n"
    )
    lesser = ["setpriv", "--bounding-set=-sys_admin", "--inh-caps=-sys_admin"]
    command = [*lesser, sys.executable, "-B", "-c", f"{call}print(r.outcome, r.stdout, r.stderr)"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.stdout.split() == ["succeeded", "False"] or "permits no namespaces" in done.stderr, done
