"""The pool of servers against a real one that fails by plan: each fault, dead servers, slow starts, the key, the limit."""

import signal
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import pytest

from corpusmill.engines.chat_tokens import ChatTokens
from corpusmill.engines.inference import ChatRequest, Completion, EngineDeadError, EngineIdentity
from corpusmill.engines.server_dealer import LEAST_BUSY, MAX_BUSY, Patience
from corpusmill.engines.server_pool import ServerPool
from corpusmill.engines.service import EngineStartError
from corpusmill.synthesize.sampling import Sampling
from tests.engines.test_chat_tokens import write_folder
from tests.servers.chat_server import RunningServer, chat_server, said_anew
from tests.servers.ports import free_ports

IDENTITY = EngineIdentity(model="toy", revision="1", license="MIT", name="servers")
QUICK = Patience(request_seconds=60, startup_seconds=60, backoff_seconds=0.01)
HASTY = Patience(request_seconds=0.5, startup_seconds=60, backoff_seconds=0.01)
SAMPLING = Sampling(max_tokens=10)


@contextmanager
def pool_over(*servers: RunningServer | str, patience: Patience = QUICK, **more) -> Iterator[ServerPool]:
    urls = [server if isinstance(server, str) else server.url for server in servers]
    pool = ServerPool(urls, identity=IDENTITY, patience=patience, **more)
    try:
        yield pool
    finally:
        pool.close()


def request(text: str, **more) -> ChatRequest:
    return ChatRequest(request_id=text, messages=({"role": "user", "content": text},), **more)


def texts(number: int) -> list[str]:
    return [f"This is page {place}. It has two sentences." for place in range(number)]


def ask(pool: ServerPool, asked: list[str]) -> list[Completion]:
    completions = pool.generate([request(text) for text in asked], SAMPLING)
    assert [completion.request_id for completion in completions] == asked
    return completions


def assert_answered(completions: list[Completion]) -> None:
    assert [completion.answer for completion in completions] == [said_anew(it.request_id) for it in completions]


def test_answers_come_in_the_order_of_the_requests_with_their_tokens():
    with chat_server() as server, pool_over(server) as pool:
        completions = ask(pool, texts(30))
        assert_answered(completions)
        assert (completions[0].prompt_tokens, completions[0].finish_reason) == (8, "stop")
        assert set(server.counts()["arrivals"].values()) == {1}
        assert pool.generate([], SAMPLING) == []


def test_a_server_may_get_many_at_once_from_the_first():
    with chat_server(latency_seconds=0.3) as server, pool_over(server, first_concurrency=20) as pool:
        assert_answered(ask(pool, texts(20)))
        assert server.counts()["peak_in_flight"] == 20


@pytest.mark.parametrize("share", ["error_share", "broken_share", "reset_share"])
def test_what_fails_by_chance_is_tried_again_and_nothing_else(share):
    with chat_server(**{share: 0.2}) as server, pool_over(server) as pool:
        asked = texts(60)
        assert_answered(ask(pool, asked))
        counts = server.counts()
        num_faults = counts["outcomes"][share.removesuffix("_share")]
        assert num_faults > 3
        assert sum(counts["arrivals"].values()) == len(asked) + num_faults


def test_a_hang_is_given_up_at_its_deadline_and_tried_again():
    with chat_server(hang_share=0.1) as server, pool_over(server, patience=HASTY) as pool:
        asked = texts(40)
        assert_answered(ask(pool, asked))
        counts = server.counts()
        assert counts["outcomes"]["hang"] > 1
        assert sum(counts["arrivals"].values()) == len(asked) + counts["outcomes"]["hang"]


def test_a_hang_is_tried_elsewhere():
    with (
        chat_server(always="hang", is_for_all=True) as one,
        chat_server() as other,
        pool_over(one, other, patience=HASTY) as pool,
    ):
        assert_answered(ask(pool, texts(20)))
        assert one.counts()["outcomes"]["hang"] > 0
        assert set(other.counts()["arrivals"].values()) == {1}


def test_a_refusal_is_a_failed_row_that_is_not_asked_again():
    with chat_server(always="refuse") as server, pool_over(server) as pool:
        completions = ask(pool, [*texts(5), "FAULT", *texts(8)[5:]])
        assert [completion.failure for completion in completions] == [None] * 5 + ["request_refused"] + [None] * 3
        assert server.counts()["arrivals"]["FAULT"] == 1


@pytest.mark.parametrize(
    ("fault", "failure"),
    [
        ("error", "server_error"),
        ("broken", "broken_answer"),
        ("reset", "connection_lost"),
        ("flood", "broken_answer"),
        ("other_model", "other_model"),
        ("unfit", "server_error"),  # a gateway before the server that does not like this one prompt
    ],
)
def test_what_fails_every_time_is_a_failed_row_after_four_tries(fault, failure, monkeypatch):
    monkeypatch.setattr("corpusmill.engines.chat_server.MAX_REPLY_BYTES", 1 << 20)
    with chat_server(always=fault) as server, pool_over(server) as pool:
        completions = ask(pool, [*texts(4), "FAULT"])
        assert completions[-1].failure == failure
        assert_answered(completions[:-1])
        assert server.counts()["arrivals"]["FAULT"] == 4


def test_case_15_one_over_long_prompt_is_a_failed_row_and_the_others_are_answered():
    with chat_server(window=30) as server, pool_over(server) as pool:
        long = "word " * 21
        completions = ask(pool, [*texts(10), long, *texts(20)[10:]])
        assert completions[10].failure == "prompt_too_long"
        assert_answered(completions[:10] + completions[11:])
        assert server.counts()["arrivals"][long] == 1


@pytest.mark.parametrize(("told", "arrived"), [((30,), 0), ((30, 20), 0), ((30, 60), 1), ((30, 0), 1)])
def test_case_15_a_prompt_that_fits_no_servers_window_is_not_sent(tmp_path, told, arrived):
    tokens = ChatTokens(write_folder(tmp_path / "m"))
    long, short = "word " * 15, "word " * 14
    assert [tokens.count(request(text).messages) + SAMPLING.max_tokens for text in (long, short)] == [31, 30]
    with ExitStack() as stack:
        servers = [stack.enter_context(chat_server(max_model_len=window)) for window in told]
        pool = stack.enter_context(pool_over(*servers, tokens=tokens))
        completions = ask(pool, [short, long, "A page."])
        counts = [server.counts()["arrivals"] for server in servers]
        failed = "prompt_too_long" if arrived == 0 else None
        assert [completion.failure for completion in completions] == [None, failed, None]
        assert sum(one.get(long, 0) for one in counts) == arrived
        assert sum(one.get(short, 0) for one in counts) == 1


def test_a_prompt_that_is_no_unicode_is_refused_before_it_is_sent():
    with chat_server() as server, pool_over(server) as pool:
        completions = pool.generate([request("half a pair \ud83d"), request("A page.")], SAMPLING)
        assert [completion.failure for completion in completions] == ["request_refused", None]
        assert list(server.counts()["arrivals"]) == ["A page."]


def test_case_14_a_server_that_is_killed_in_the_middle_costs_nothing_but_time():
    asked = texts(80)
    with chat_server(dies_at=20) as one, chat_server() as other, pool_over(one, other, max_concurrency=8) as pool:
        assert_answered(ask(pool, asked))
        assert one.process.wait() == -signal.SIGKILL
        assert max(other.counts()["arrivals"].values()) == 1
        assert_answered(ask(pool, texts(10)))


def test_a_server_that_comes_back_gets_work_again():
    [port] = free_ports(1)
    with chat_server(port=port, dies_at=3) as one, pool_over(one) as pool:
        found: list[list[Completion]] = []
        asking = threading.Thread(target=lambda: found.append(ask(pool, texts(12))))
        asking.start()
        assert one.process.wait() == -signal.SIGKILL
        with chat_server(port=port):
            asking.join()
            assert_answered(found[0])


def test_when_no_server_is_left_that_is_said_once_the_start_up_budget_is_over():
    patience = Patience(request_seconds=60, startup_seconds=0.2, backoff_seconds=0.01)
    with chat_server(dies_at=5) as server, pool_over(server, patience=patience) as pool:
        with pytest.raises(EngineDeadError, match=r"no inference server is left; \d+ requests were not answered"):
            ask(pool, texts(20))
        with pytest.raises(EngineDeadError, match=server.url):
            ask(pool, texts(1))


def test_a_server_that_answers_nothing_any_more_is_struck_out_by_the_watchdog():
    patience = Patience(request_seconds=0.1, startup_seconds=60, backoff_seconds=0.01)
    with (
        chat_server(always="hang", is_for_all=True) as server,
        pool_over(server, patience=patience) as pool,
        pytest.raises(EngineDeadError, match=r"no answer within 0\.3 s, only setbacks"),
    ):
        ask(pool, texts(20))


def test_a_broken_server_does_not_fail_the_rows_that_others_can_answer():
    with (
        chat_server(always="error", is_for_all=True) as one,
        chat_server(latency_seconds=0.01) as other,
        pool_over(one, other) as pool,
    ):
        assert_answered(ask(pool, texts(60)))
        assert sum(one.counts()["arrivals"].values()) < 40


def test_a_server_that_takes_the_key_no_more_is_left_and_no_row_fails():
    with (
        chat_server(always="unfit", is_for_all=True) as one,
        chat_server(latency_seconds=0.01) as other,
        pool_over(one, other) as pool,
    ):
        assert_answered(ask(pool, texts(60)))
        assert sum(one.counts()["arrivals"].values()) < 20


@pytest.mark.parametrize("num_others", [0, 30])
def test_a_request_that_is_always_turned_away_is_a_failed_row_and_its_server_goes_on(num_others):
    with chat_server(always="busy") as server, pool_over(server) as pool:
        completions = ask(pool, ["FAULT", *texts(num_others)])
        assert completions[0].failure == "server_busy"
        assert_answered(completions[1:])
        assert server.counts()["arrivals"]["FAULT"] == MAX_BUSY
        assert_answered(ask(pool, texts(5)))


def test_long_pauses_that_a_server_names_count_against_the_request_not_the_lone_server():
    """Twenty of them would take longer than the server may go without an answer."""
    patience = Patience(request_seconds=0.5, startup_seconds=60, backoff_seconds=0.01)
    with chat_server(always="busy", retry_after="0.2") as server, pool_over(server, patience=patience) as pool:
        assert ask(pool, ["FAULT"])[0].failure == "server_busy"
        assert LEAST_BUSY <= server.counts()["arrivals"]["FAULT"] < MAX_BUSY
        assert_answered(ask(pool, texts(5)))


def test_a_server_that_turns_away_everything_is_struck_out_and_no_row_fails():
    patience = Patience(request_seconds=0.1, startup_seconds=60, backoff_seconds=0.01)
    with (
        chat_server(always="busy", is_for_all=True) as server,
        pool_over(server, patience=patience) as pool,
        pytest.raises(EngineDeadError, match=r"60 requests were not answered[\s\S]* only setbacks"),
    ):
        ask(pool, texts(60))


def test_a_server_that_wants_to_be_left_alone_for_too_long_is_left():
    with (
        chat_server(slots=1, retry_after="86400", latency_seconds=0.01) as server,
        pool_over(server) as pool,
        pytest.raises(EngineDeadError, match="status 429"),
    ):
        ask(pool, texts(20))


def test_case_16_no_server_starts_in_time():
    [port] = free_ports(1)
    nobody = f"http://127.0.0.1:{port}"
    patience = Patience(startup_seconds=0.2, backoff_seconds=0.01)
    with chat_server(num_silent_looks=10**6) as loading:
        with pytest.raises(EngineStartError, match=r"answered within 0\.2 s") as raised:
            ServerPool([nobody, loading.url], identity=IDENTITY, patience=patience)
        assert f"{nobody}: ClientConnectorError" in str(raised.value)
        assert f"{loading.url}: GET /v1/models gave status 503" in str(raised.value)


def test_a_slow_start_is_waited_for_and_a_late_server_joins():
    [port] = free_ports(1)
    late = f"http://127.0.0.1:{port}/v1/"
    with chat_server(num_silent_looks=3) as slow, pool_over(slow, late) as pool:
        assert slow.counts()["num_looks"] >= 4
        with chat_server(port=port) as joined:
            number = 0
            while not joined.counts()["arrivals"]:
                number += 1
                assert_answered(ask(pool, [f"{text} {number}." for text in texts(20)]))


def test_a_server_of_another_model_is_refused_and_named():
    with (
        chat_server(model="other") as wrong,
        chat_server() as right,
        pytest.raises(ValueError, match=f"{wrong.url}: it serves other, not 'toy'"),
    ):
        ServerPool([right.url, wrong.url], identity=IDENTITY, patience=QUICK)


def test_the_key_is_sent_and_told_nowhere(monkeypatch, capfd, caplog):
    monkeypatch.setenv("TOY_KEY", "sk-secret")
    with chat_server(key="sk-secret") as server, pool_over(server, api_key_variable="TOY_KEY") as pool:
        assert_answered(ask(pool, texts(3)))
    with (
        chat_server(key="sk-secret", always="unfit", is_for_all=True) as server,
        pool_over(server, api_key_variable="TOY_KEY") as pool,
        pytest.raises(EngineDeadError, match=r"Incorrect API key provided: \*\*\*") as later,
    ):
        ask(pool, texts(20))
    with (
        chat_server(key="sk-other") as server,
        pytest.raises(ValueError, match=r"status 401 \(the key comes from the variable TOY_KEY\)") as first,
    ):
        ServerPool([server.url], identity=IDENTITY, patience=QUICK, api_key_variable="TOY_KEY")
    assert "sk-" not in f"{first.value!r} {later.value!r} {capfd.readouterr()} {caplog.text}"


@pytest.mark.parametrize(("key", "told"), [(None, "is not set"), (" ", "is not set"), ("a\nb", "no key has")])
def test_a_key_that_is_none_is_named_by_its_variable(key, told, monkeypatch):
    monkeypatch.delenv("TOY_KEY", raising=False)
    if key is not None:
        monkeypatch.setenv("TOY_KEY", key)
    with pytest.raises(ValueError, match=f"TOY_KEY, which .*{told}"):
        ServerPool(["http://127.0.0.1:1"], identity=IDENTITY, api_key_variable="TOY_KEY")


def test_concurrency_grows_to_the_maximum_and_not_beyond():
    with chat_server(latency_seconds=0.01) as server, pool_over(server, max_concurrency=12) as pool:
        assert_answered(ask(pool, texts(150)))
        assert server.counts()["peak_in_flight"] == 12


def test_concurrency_finds_what_a_busy_server_takes():
    with chat_server(latency_seconds=0.01, slots=5) as server, pool_over(server, max_concurrency=200) as pool:
        asked = texts(200)
        assert_answered(ask(pool, asked))
        counts = server.counts()
        assert counts["peak_in_flight"] == 5
        assert 0 < counts["outcomes"]["busy"] < len(asked) / 2


def test_structured_output_and_repetition_penalty_reach_the_server():
    schema = {"type": "object", "properties": {"title": {"type": "string"}, "year": {"type": "integer"}}}
    with chat_server() as server, pool_over(server) as pool:
        sampling = Sampling(max_tokens=10, repetition_penalty=1.2)
        [completion] = pool.generate([request("A page.", schema=schema)], sampling)
        assert completion.answer == '{"title": "text", "year": 1}'
        assert server.counts()["bodies"][0]["repetition_penalty"] == 1.2


def test_threads_share_a_pool():
    with chat_server(latency_seconds=0.005) as server, pool_over(server, max_concurrency=8) as pool:
        found: dict[int, list[Completion]] = {}
        asked = {number: [f"{text} {number}." for text in texts(15)] for number in range(4)}
        threads = [threading.Thread(target=lambda n=n: found.update({n: ask(pool, asked[n])})) for n in asked]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for number in asked:
            assert_answered(found[number])
        assert server.counts()["peak_in_flight"] == 8


def test_a_closed_pool_leaves_no_thread():
    with chat_server() as server:
        pool = ServerPool([server.url], identity=IDENTITY, patience=QUICK)
        pool.close()
        pool.close()
    assert "server-pool" not in {thread.name for thread in threading.enumerate()}
