"""How the steps of a run are started: each in a process of its own, forked from one that has loaded the definitions.

Loading them takes about four seconds of CPU, more than the work of many a step. Cancelling needs the processes: in one
process with its run, a cancelled step would be retried.
"""

from collections.abc import Sequence

import dagster as dg


def step_processes(modules: Sequence[str]) -> dg.ExecutorDefinition:
    """Return the executor that loads `modules` once a run; as many steps at a time as there are cores."""
    return dg.multiprocess_executor.configured({"start_method": {"forkserver": {"preload_modules": list(modules)}}})
