"""Environments of the tools that we compare with: each in a venv of its own, made on first use, kept under `.corpusmill/peers`.

A peer never shares our environment: its pins would fight with ours, and what a user installs is what should be timed.
"""

import hashlib
import subprocess
import sys
import venv
from collections.abc import Sequence
from pathlib import Path

PEERS = Path(__file__).parent.parent / ".corpusmill" / "peers"
_STAMP = "requirements.txt"


def peer_python(name: str, requirements: Sequence[str], *, folder: Path = PEERS) -> Path:
    """Return the python of a venv with `requirements` (pinned: `datatrove==0.10.1`), made once.

    Other requirements under the same name make a venv beside it. Raises ValueError for one that is not pinned and
    CalledProcessError when pip cannot install them.
    """
    loose = [requirement for requirement in requirements if "==" not in requirement]
    if loose:
        raise ValueError(f"a peer is compared at a fixed release: wanted `name==version`, got {', '.join(loose)}")
    wanted = "\n".join(sorted(requirements)) + "\n"
    home = folder / f"{name}-{hashlib.sha256(wanted.encode()).hexdigest()[:8]}"
    python = home / "bin" / "python"
    if not (home / _STAMP).exists():
        print(f"installing {', '.join(requirements)} into {home}", file=sys.stderr, flush=True)
        venv.create(home, with_pip=True, clear=True)
        subprocess.run([python, "-m", "pip", "install", "-qq", *requirements], check=True)
        (home / _STAMP).write_text(wanted, encoding="utf-8")
    return python
