"""A trial in a process of its own: what it measures, and every way in which it can fail."""

import subprocess
import sys

import psutil
import pytest

from corpusmill.engines.trials import Budget, failure_class, last_error, run_trial
from corpusmill.engines.worker_path import SOURCE_ROOT
from corpusmill.tune.trial import CRASH, OUT_OF_MEMORY, RUN_TIMEOUT, START_TIMEOUT, beginning
from tests.engines.toys.waiting import wait_until

SERVER = "tests.engines.toys.toy_server:start"
GENEROUS = Budget(start_seconds=120, run_seconds=120)


def group(*contents: str, temperature: float = 0.0) -> dict:
    return {
        "sampling": {"max_tokens": 8, "temperature": temperature},
        "requests": [
            {"request_id": content, "messages": [{"role": "user", "content": content}]} for content in contents
        ],
    }


def trial(max_num_seqs: int, budget: Budget = GENEROUS) -> dict:
    return run_trial(SERVER, {"tuning": {"max_num_seqs": max_num_seqs}}, [group("a", "b")], budget=budget)


def test_a_trial_counts_tokens_and_remembers_how_answers_begin():
    groups = [group("a", "b"), group("c", temperature=0.7)]
    found = run_trial(SERVER, {"tuning": {}}, groups, budget=GENEROUS)
    assert (found["answered"], found["prompt_tokens"], found["output_tokens"]) == (3, 15, 3_000_000)
    assert found["seconds"] > 0 and found["start_seconds"] > 0 and "failure" not in found
    assert found["beginnings"] == [beginning("a"), beginning("b"), ""]


@pytest.mark.parametrize(
    ("max_num_seqs", "failure", "message"),
    [
        (1, OUT_OF_MEMORY, "exit code 1: MemoryError: a list of all the world"),
        (2, CRASH, "exit code 1: RuntimeError: no such kernel"),
        (3, OUT_OF_MEMORY, "exit code -9: "),
    ],
)
def test_a_server_that_ends_is_a_result(max_num_seqs, failure, message):
    found = trial(max_num_seqs)
    assert found["failure"] == failure and found["message"].startswith(message)


@pytest.mark.parametrize(
    ("max_num_seqs", "budget", "failure"),
    [
        (4, Budget(start_seconds=0.5, run_seconds=120), START_TIMEOUT),
        (5, Budget(start_seconds=120, run_seconds=0.5), RUN_TIMEOUT),
    ],
)
def test_a_server_that_takes_too_long_is_ended_and_a_result(max_num_seqs, budget, failure):
    before = {child.pid for child in psutil.Process().children(recursive=True)}
    assert trial(max_num_seqs, budget)["failure"] == failure
    assert {child.pid for child in psutil.Process().children(recursive=True)} <= before


def test_a_trial_ends_with_who_started_it():
    script = (
        "import sys\nfrom tests.engines.test_trials import trial\n"
        "import corpusmill.engines.trials as trials\nspawn = trials._spawn\n"
        "def told(log):\n    process = spawn(log)\n    print(process.pid, flush=True)\n    return process\n"
        "trials._spawn = told\ntrial(4)\n"
    )
    parent = subprocess.Popen([sys.executable, "-c", script], cwd=SOURCE_ROOT, stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None
    child = psutil.Process(int(parent.stdout.readline()))
    parent.kill()
    parent.communicate()
    wait_until(lambda: not child.is_running() or child.status() == psutil.STATUS_ZOMBIE)


@pytest.mark.parametrize(
    ("code", "words", "failure"),
    [
        (1, "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 20.00 GiB", OUT_OF_MEMORY),
        (1, "ValueError: No available memory for the cache blocks. Try increasing it", OUT_OF_MEMORY),
        (134, "terminate called after throwing an instance of 'std::bad_alloc'", OUT_OF_MEMORY),
        (-9, "loading", OUT_OF_MEMORY),
        (-11, "loading", CRASH),
        (1, "ImportError: Arctic Inference is required", CRASH),
    ],
)
def test_out_of_memory_is_told_from_other_ends(code, words, failure):
    assert failure_class(code, words) == failure


def test_the_last_error_is_found_among_other_words():
    assert last_error("Traceback\n  File x\nValueError: wrong\nINFO 11-30 done: bye\n") == "ValueError: wrong"
    assert last_error("\n") == "no last words"


def test_budgets_must_be_positive():
    with pytest.raises(ValueError, match="must be positive, got 0 and 1"):
        Budget(start_seconds=0, run_seconds=1)
