"""Environments of the tools that we compare with: each in a venv of its own, made on first use, kept under `.corpusmill/peers`.

A peer never shares our environment: its pins would fight with ours, and what a user installs is what should be timed.
"""

import hashlib
import subprocess
import sys
import sysconfig
import venv
from collections.abc import Sequence
from pathlib import Path

PEERS = Path(__file__).parent.parent / ".corpusmill" / "peers"
_STAMP = "requirements.txt"


def peer_python(name: str, requirements: Sequence[str], *, borrows: bool = False, folder: Path = PEERS) -> Path:
    """Return the python of a venv with `requirements` (pinned: `datatrove==0.10.1`), made once.

    With `borrows` nothing that these need is installed: it is listed too, or imported from our environment, as torch is
    in its build for the processor, where pip would fetch gigabytes of another. Other requirements under the same name make
    a venv beside it. Raises ValueError for one that is not pinned and CalledProcessError when pip cannot install them.
    """
    loose = [requirement for requirement in requirements if "==" not in requirement]
    if loose:
        raise ValueError(f"a peer is compared at a fixed release: wanted `name==version`, got {', '.join(loose)}")
    wanted = "\n".join([*sorted(requirements), *(["what is missing from " + sys.prefix] if borrows else [])]) + "\n"
    home = folder / f"{name}-{hashlib.sha256(wanted.encode()).hexdigest()[:8]}"
    python = home / "bin" / "python"
    if not (home / _STAMP).exists():
        print(f"installing {', '.join(requirements)} into {home}", file=sys.stderr, flush=True)
        venv.create(home, with_pip=True, clear=True)
        options = ["--no-deps"] if borrows else []
        subprocess.run([python, "-m", "pip", "install", "-qq", *options, *requirements], check=True)
        if borrows:
            # Searched after the peer's own folder: what it has itself, it uses.
            ours, theirs = (_packages(Path(prefix)) for prefix in (sys.prefix, home))
            (theirs / "borrowed.pth").write_text(f"{ours}\n", encoding="utf-8")
        (home / _STAMP).write_text(wanted, encoding="utf-8")
    return python


def _packages(prefix: Path) -> Path:
    return Path(sysconfig.get_path("purelib", vars={"base": str(prefix), "platbase": str(prefix)}))
