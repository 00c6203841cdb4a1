"""This process as the driver of one Ray cluster: started here, or joined where it runs already.

A cluster of ours listens on the loopback address only and asks for a token, because whoever may talk to a Ray cluster may
run code in it. Ray reads its environment when it is imported, so a process belongs to one cluster for its whole life.
"""

import os
import secrets
import signal
import sys
from pathlib import Path
from typing import Any


def start_cluster(*, token_file: Path, **arguments: Any) -> str:
    """Start a cluster that belongs to this process and return its address; `arguments` go to `ray.init`."""
    token_file.touch(mode=0o600)
    token_file.write_text(secrets.token_hex(32), encoding="ascii")
    _prepare_environment(token_file)
    import ray

    # Ray takes SIGTERM for itself; here it stays with the one who had it.
    before = signal.getsignal(signal.SIGTERM)
    ray.init(address="local", include_dashboard=False, log_to_driver=False, **arguments)
    signal.signal(signal.SIGTERM, before)
    return str(ray.get_runtime_context().gcs_address)


def join_cluster(endpoint: dict[str, Any]) -> None:
    """Connect this process to the cluster of an endpoint, which is its `address`, `namespace` and `token_file`."""
    _prepare_environment(Path(endpoint["token_file"]))
    import ray

    ray.init(address=endpoint["address"], namespace=endpoint["namespace"], log_to_driver=False, configure_logging=False)


def _prepare_environment(token_file: Path) -> None:
    assert "ray" not in sys.modules, "Ray was imported before its environment was ready"
    os.environ.update(
        RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO="0",
        RAY_AUTH_MODE="token",
        RAY_AUTH_TOKEN_PATH=str(token_file),
        RAY_ENABLE_UV_RUN_RUNTIME_ENV="0",
        # In Ray's words "no cluster on this system": it keeps to the loopback address, as it does on macOS.
        RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER="0",
        RAY_USAGE_STATS_ENABLED="0",
        RAY_worker_niceness="0",  # an engine is the work, not something beside it
    )
