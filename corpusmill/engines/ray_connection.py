"""This process as a driver of one Ray cluster: started here, or joined where it runs already.

Ray keeps one connection per process and changes the process around it; what it changes is put back here. A cluster of
ours listens on the loopback address only and asks for a token, because whoever may talk to a Ray cluster may run code in
it. The engines of one process that use one cluster share the connection.
"""

import os
import secrets
import signal
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

LOOPBACK = "127.0.0.1"

_lock = threading.Lock()
_users: dict[str, int] = {}
"""Address of the cluster that this process joined -> how many engines use the connection."""


def start_cluster(*, token_file: Path, **arguments: Any) -> str:
    """Start a cluster that belongs to this process and return its address; `arguments` go to `ray.init`."""
    token_file.touch(mode=0o600)
    token_file.write_text(secrets.token_hex(32), encoding="ascii")
    os.environ.update(
        RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO="0", RAY_ENABLE_UV_RUN_RUNTIME_ENV="0", RAY_USAGE_STATS_ENABLED="0"
    )
    _init(LOOPBACK, token_file, address="local", include_dashboard=False, _node_ip_address=LOOPBACK, **arguments)
    import ray

    return str(ray.get_runtime_context().gcs_address)


def join_cluster(address: str, *, namespace: str, token_file: Path | None) -> None:
    """Connect this process to the cluster at `address`; every call is answered by one of `leave_cluster`.

    Raises ValueError when the process is connected to another cluster, ConnectionError when nothing answers.
    """
    import ray

    with _lock:
        if not _users:
            if ray.is_initialized():
                raise ValueError(
                    f"this process already is a driver of the Ray cluster at {ray.get_runtime_context().gcs_address} "
                    f"and cannot join the one at {address}: close that engine first, or use another process"
                )
            _init(address, token_file, address=address, namespace=namespace)
        elif address not in _users:
            raise ValueError(
                f"this process already uses the inference server at {next(iter(_users))} and cannot join the one at "
                f"{address}: close that engine first, or use another process"
            )
        _users[address] = _users.get(address, 0) + 1


def leave_cluster(address: str) -> None:
    """Disconnect when nobody in this process uses the cluster any more."""
    import ray

    with _lock:
        _users[address] -= 1
        if not _users[address]:
            del _users[address]
            ray.shutdown()


def _init(at: str, token_file: Path | None, **arguments: Any) -> None:
    with _signals_kept(), _loopback_kept(at), _environment(_authentication(token_file)):
        _read_authentication_anew()
        import ray

        ray.init(log_to_driver=False, configure_logging=False, **arguments)


def _authentication(token_file: Path | None) -> dict[str, str]:
    if token_file is None:
        return {}
    return {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN_PATH": str(token_file)}


def _read_authentication_anew() -> None:
    """Make Ray look at the environment again, where an earlier import or connection has looked already."""
    from ray import _raylet

    inside: Any = _raylet  # compiled, without types
    inside.Config.initialize("")
    inside.AuthenticationTokenLoader.instance().reset_cache()


@contextmanager
def _environment(changes: Mapping[str, str]) -> Iterator[None]:
    before = {name: os.environ.get(name) for name in changes}
    os.environ.update(changes)
    try:
        yield
    finally:
        for name, value in before.items():
            os.environ.pop(name, None)
            if value is not None:
                os.environ[name] = value


@contextmanager
def _loopback_kept(address: str) -> Iterator[None]:
    """Keep Ray from replacing the loopback address by an outer one, which changes when a laptop changes its network."""
    from ray._private import ray_constants

    before = ray_constants.ENABLE_RAY_CLUSTER
    if address.startswith(LOOPBACK):
        ray_constants.ENABLE_RAY_CLUSTER = False
    try:
        yield
    finally:
        ray_constants.ENABLE_RAY_CLUSTER = before


@contextmanager
def _signals_kept() -> Iterator[None]:
    """Undo what Ray does to the handler of SIGTERM when it connects."""
    before = signal.getsignal(signal.SIGTERM)
    try:
        yield
    finally:
        with suppress(ValueError):  # only the main thread has handlers
            signal.signal(signal.SIGTERM, before)
