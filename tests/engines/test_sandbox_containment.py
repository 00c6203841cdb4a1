"""Programs that mean harm, in Python and in C++: each is contained and told of in a word, and the machine is as before."""

import tempfile
import uuid
from pathlib import Path

import pytest

from corpusmill.engines.sandbox import Limits, SandboxError, run_programs, run_programs_in
from corpusmill.engines.sandbox_languages import program, toolchain
from tests.engines.test_sandbox import carriers_of, namespaces_are_permitted

MARK = f"mark-{uuid.uuid4().hex}"
LIMITS = Limits(cpu_seconds=1, wall_seconds=8, memory_bytes=256 << 20, file_bytes=1 << 20, output_bytes=1000)
OUTSIDE = ["/", "/etc", "/usr", "/dev", "/var/tmp", "/tmp", "/root", str(Path.home()), str(Path(__file__).parent)]
SECRET = Path.home() / f".{MARK}"
SECRETS = ["/etc/shadow", "/etc/passwd", "/etc/hostname", str(SECRET), "/proc/1/environ", "/proc/self/maps", __file__]

PYTHON = {
    "fork bomb": "import os\nwhile True:\n    try:\n        os.fork()\n    except OSError:\n        pass",
    "endless loop": "while True: pass",
    "endless sleep": "import time\nwhile True: time.sleep(1)",
    "10 GB at once": "x = bytearray(10 << 30)",
    "10 GB bit by bit": "x = []\nwhile True: x.append(bytes(1 << 20))",
    "much memory in many processes": (
        "import os, time\nfor n in range(6):\n    if os.fork() == 0:\n        x = b'1' * (80 << 20)\n        time.sleep(600)\n"
        "time.sleep(600)"
    ),
    "network": (
        "import socket\nreached = []\nfor kind, where in ((socket.SOCK_STREAM, ('1.1.1.1', 53)), "
        "(socket.SOCK_DGRAM, ('127.0.0.1', 53))):\n    try:\n        socket.socket(socket.AF_INET, kind).connect(where)\n"
        "        reached.append(where)\n    except OSError: pass\nprint(reached)"
    ),
    "the machine behind this one": "import socket\nsocket.socket(socket.AF_VSOCK, socket.SOCK_STREAM)",
    "writes outside": (
        f"import os\nwritten = []\nfor folder in {OUTSIDE!r}:\n    try:\n        open(folder + '/{MARK}', 'w').write('x')\n"
        "        written.append(folder)\n    except OSError: pass\nprint(written)"
    ),
    "reads secrets": (
        f"found = []\nfor path in {SECRETS!r}:\n    try:\n        open(path).read()\n        found.append(path)\n"
        "    except OSError: pass\nprint(found)"
    ),
    "kills its parents": (
        "import os, signal\nfor number in (signal.SIGKILL, signal.SIGSTOP, signal.SIGTERM):\n"
        "    for process in (1, os.getppid(), -1):\n        try:\n            os.kill(process, number)\n"
        "        except OSError: pass\nprint('alive')"
    ),
    "endless output": "import os\nwhile True: os.write(1, b'x' * 65536)",
    "ignores every signal": (
        "import signal\nfor number in signal.valid_signals():\n    try:\n        signal.signal(number, signal.SIG_IGN)\n"
        "    except OSError: pass\nwhile True: pass"
    ),
    "daemon": (
        "import os, sys\nif os.fork() == 0:\n    os.setsid()\n    if os.fork() == 0:\n"
        f"        os.execv(sys.executable, [sys.executable, '-c', 'import time; time.sleep(600) # {MARK}'])\n"
        "    os._exit(0)\nos.wait()\nprint('left')"
    ),
    "memory that no process holds": (
        "import ctypes, os\nlibc = ctypes.CDLL(None)\nprint(libc.shmget(0, 1 << 30, 0o1600))\nos.memfd_create('x')"
    ),
    "new user namespace": (
        "import ctypes\nlibc = ctypes.CDLL(None)\nprint(libc.unshare(0x10000000), libc.syscall(56, 0x10000011, 0, 0, 0, 0))"
    ),
    "reads its parent's memory": "import ctypes, os\nprint(ctypes.CDLL(None).ptrace(16, os.getppid(), 0, 0))",
    "works": "print('works')",
}
CPP = {
    "fork bomb": "#include <unistd.h>\nint main() { for (;;) fork(); }",
    "endless loop": "int main() { for (volatile int n = 0; ; n++) {} }",
    "10 GB at once": (
        "#include <sys/mman.h>\n#include <cstdio>\nint main() { \n"
        "void* x = mmap(0, 10ul << 30, 3, MAP_SHARED | MAP_ANONYMOUS, -1, 0);\n"
        "perror(\"mmap\"); return x == MAP_FAILED; }"
    ),
    "much memory in many processes": (
        "#include <cstring>\n#include <unistd.h>\nint main() { for (int n = 0; n < 6; n++) if (!fork()) {\n"
        "memset(new char[80 << 20], 1, 80 << 20); pause(); } pause(); }"
    ),
    "network": (
        "#include <arpa/inet.h>\n#include <cstdio>\n#include <sys/socket.h>\nint main() { sockaddr_in to{};\n"
        "to.sin_family = AF_INET; to.sin_port = htons(53); inet_pton(AF_INET, \"1.1.1.1\", &to.sin_addr);\n"
        "int failed = connect(socket(AF_INET, SOCK_STREAM, 0), (sockaddr*)&to, sizeof to); perror(\"connect\"); return -failed; }"
    ),
    "ignores every signal": (
        "#include <csignal>\nint main() { for (int n = 1; n < 65; n++) signal(n, SIG_IGN); for (volatile int n = 0; ; n++) {} }"
    ),
    "works": "#include <cstdio>\nint main() { puts(\"works\"); }",
}  # fmt: skip


@pytest.fixture(scope="module", autouse=True)
def permitted():
    if not namespaces_are_permitted():
        pytest.skip("this machine permits no namespaces")


@pytest.fixture(scope="module")
def python():
    SECRET.write_text("secret")
    try:
        return dict(zip(PYTHON, run_programs(list(PYTHON.values()), limits=LIMITS), strict=True))
    finally:
        SECRET.unlink()


@pytest.fixture(scope="module")
def cpp():
    try:
        toolchain("cpp")
    except SandboxError as error:
        pytest.skip(str(error))
    programs = [program("cpp", source) for source in CPP.values()]
    return dict(zip(CPP, run_programs_in("cpp", programs, limits=LIMITS), strict=True))


@pytest.mark.parametrize(
    ("name", "outcome", "said"),
    [
        ("fork bomb", "timed_out", ""),
        ("endless loop", "timed_out", ""),
        ("endless sleep", "timed_out", ""),
        ("10 GB at once", "failed", ""),
        ("10 GB bit by bit", "failed", ""),
        ("much memory in many processes", "memory_exceeded", ""),
        ("network", "succeeded", "[]\n"),
        ("the machine behind this one", "failed", ""),
        ("writes outside", "succeeded", "['/var/tmp', '/tmp']\n"),
        ("reads secrets", "succeeded", "[]\n"),
        ("kills its parents", "succeeded", "alive\n"),
        ("endless output", "timed_out", "x" * 1000),
        ("ignores every signal", "timed_out", ""),
        ("daemon", "succeeded", "left\n"),
        ("memory that no process holds", "failed", "-1\n"),
        ("new user namespace", "succeeded", "-1 -1\n"),
        ("reads its parent's memory", "succeeded", "-1\n"),
        ("works", "succeeded", "works\n"),
    ],
)
def test_python_is_contained(python, name, outcome, said):
    assert (python[name].outcome, python[name].stdout) == (outcome, said), python[name]


@pytest.mark.parametrize(
    ("name", "outcome", "told"),
    [
        ("fork bomb", "timed_out", ""),
        ("endless loop", "timed_out", ""),
        ("10 GB at once", "failed", "mmap: Cannot allocate memory\n"),
        ("much memory in many processes", "memory_exceeded", ""),
        ("network", "failed", "connect: Network is unreachable\n"),
        ("ignores every signal", "timed_out", ""),
        ("works", "succeeded", ""),
    ],
)
def test_cpp_is_contained(cpp, name, outcome, told):
    assert (cpp[name].outcome, cpp[name].stderr) == (outcome, told), cpp[name]


def test_the_flood_was_cut(python):
    assert python["endless output"].is_output_cut


def test_memory_is_denied_with_words(python):
    assert python["10 GB at once"].stderr.endswith("MemoryError\n")


def test_no_process_and_no_file_is_left(python, cpp):
    assert carriers_of(MARK) == []
    assert [folder for folder in OUTSIDE if Path(folder, MARK).exists()] == []
    assert list(Path(tempfile.gettempdir()).glob("cm-sandbox-*/**/*")) == []
