"""Dagster's daemon with a shorter pause between looks at backfills.

Dagster looks every 30 seconds and offers no setting; a backfill of four levels would idle for three minutes. Run as
`python -m jobs.daemon SECONDS run ...`; everything after the seconds is the command line of `dagster-daemon`.
"""

import sys


def main() -> None:
    from dagster._daemon import controller
    from dagster._daemon.cli import main as daemon_main

    seconds = float(sys.argv.pop(1))
    # The backfill loop reads the constant when it starts. Should Dagster rename it, the daemon keeps its own pace.
    vars(controller)["DEFAULT_DAEMON_INTERVAL_SECONDS"] = seconds
    daemon_main()


if __name__ == "__main__":
    main()
