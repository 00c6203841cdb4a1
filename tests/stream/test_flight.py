"""The stream from a server: the same samples, over kills, with a token, and what is wrong in one line."""

import json
import multiprocessing
import os
import pickle
import re
import socket
import subprocess
import sys
from pathlib import Path

import pyarrow.flight as flight
import pytest

from corpusmill.stream import flight_client
from corpusmill.stream.flight_client import ServerGoneError, open_remote
from corpusmill.stream.flight_server import MixtureServer, serve
from corpusmill.stream.loader import MixtureStream

ROOT = Path(__file__).parents[2]


def spelled(samples) -> list[tuple]:
    return [
        (one.position, one.component, one.epoch, one.index, one.tokens.tolist(), one.lengths.tolist())
        for one in samples
    ]


@pytest.fixture
def served(demo):
    """A server of the demo mix in this process, with a token."""
    with MixtureServer(MixtureStream(demo.settings, "demo"), token="secret") as server:
        yield f"grpc://127.0.0.1:{server.port}", MixtureStream(demo.settings, "demo")


def test_every_rank_gets_what_it_would_read_from_the_lake(served, monkeypatch):
    monkeypatch.setattr(flight_client, "CHUNK", 7)
    url, local = served
    whole = spelled(local.read(range(local.num_positions)))
    for rank in range(3):
        remote = open_remote(url, token="secret", rank=rank, world_size=3, start=6)
        assert spelled(remote) == whole[6 + rank :: 3]
        assert remote.state_dict() == {**local.state_dict(), "position": local.num_positions}


def test_any_position_pieces_and_pickling_are_the_lakes_too(served):
    url, local = served
    remote = open_remote(url, token="secret")
    remote.expect([5, 6, 5])
    assert spelled(remote.read([40, 5, 5, 3])) == spelled(local.read([40, 5, 5, 3]))
    assert [remote.provenance(position) for position in (0, 77)] == [local.provenance(position) for position in (0, 77)]
    remote.load_state_dict({**local.state_dict(), "position": 120})
    assert spelled(pickle.loads(pickle.dumps(remote))) == spelled(local.read(range(120, local.num_positions)))


def test_what_is_fetched_ahead_is_bounded_and_forgotten_when_the_stream_goes_elsewhere(served, monkeypatch):
    monkeypatch.setattr(flight_client, "CHUNK", 5)
    url, local = served
    remote = open_remote(url, token="secret")
    for start in (0, 90, 20):
        remote.expect(range(start, start + 39))
        for position in range(start, start + 39):
            assert spelled(remote.read([position])) == spelled(local.read([position]))
            assert len(remote.reader._chunks) <= flight_client.AHEAD + 2
            assert len(remote.reader._where) <= 5 * (flight_client.AHEAD + 2)


@pytest.mark.parametrize("token", [None, "other"])
def test_a_wrong_token_is_told_at_once(served, token):
    with pytest.raises(PermissionError, match=r"the server grpc://127\.0\.0\.1:\d+ wants a token, got none or another"):
        open_remote(served[0], token=token)


@pytest.mark.parametrize(
    ("ticket", "message"),
    [
        ({"mix": "demo@0"}, "wanted a ticket with mix, components and indexes"),
        ({"mix": "demo@0", "components": [0], "indexes": [0]}, "wanted mix demo@0, this server has demo@"),
        ({"components": [0], "indexes": [0, 1]}, "a ticket is for up to 4096 sequences, got 1, 2"),
        ({"components": [2], "indexes": [0]}, "has no sequence 0 of component 2"),
        ({"components": [0], "indexes": [30]}, "has no sequence 30 of component 0"),
        ({"components": [0], "indexes": [-1]}, "has no sequence -1 of component 0"),
    ],
)
def test_a_ticket_that_cannot_be_served_is_refused(served, ticket, message):
    url, local = served
    options = flight.FlightCallOptions(headers=[(b"authorization", b"Bearer secret")])
    spelled_ticket = flight.Ticket(json.dumps({"mix": local.mix, **ticket}).encode())
    with flight.connect(url) as client, pytest.raises(flight.FlightServerError, match=message):
        client.do_get(spelled_ticket, options)


NO_URLS = ("localhost:1", "http://localhost:1", "grpc://localhost", "grpc://:1", "grpc://localhost:port", None, 8815)


@pytest.mark.parametrize("token", ["sécret", "two\nlines", "x" * 10_000])
def test_a_token_that_no_call_can_carry_is_refused_at_once(served, token):
    with pytest.raises(ValueError, match="wanted a token of up to 4,096 visible ASCII characters, got"):
        open_remote(served[0], token=token)


@pytest.mark.parametrize("ticket", [b'{"mix": "m", "components": [1e999], "indexes": [0]}', b"[" * 100_000, b"\xff"])
def test_what_is_no_ticket_is_refused_in_one_line(served, ticket):
    options = flight.FlightCallOptions(headers=[(b"authorization", b"Bearer secret")])
    with (
        flight.connect(served[0]) as client,
        pytest.raises(flight.FlightServerError, match=r"^wanted a ticket with mix"),
    ):
        client.do_get(flight.Ticket(ticket), options)


def test_a_server_that_takes_the_call_and_never_answers_is_given_up_like_one_that_is_away():
    with socket.create_server(("127.0.0.1", 0)) as mute:
        url = f"grpc://127.0.0.1:{mute.getsockname()[1]}"
        with pytest.raises(ServerGoneError, match=rf"no answer from {url} for 0\.5 s"):
            open_remote(url, patience_seconds=0.5)


def test_a_forked_process_is_told_that_it_cannot_go_on(served):
    remote = open_remote(served[0], token="secret")
    next(iter(remote))
    context = multiprocessing.get_context("fork")
    told = context.SimpleQueue()
    child = context.Process(target=lambda: told.put(refusal(remote)))
    child.start()
    child.join(60)
    child.kill()
    assert child.exitcode == 0
    assert re.search('opened before this process was forked; start workers with .*="forkserver"', told.get())


def refusal(stream: MixtureStream) -> str:
    try:
        next(iter(stream))
    except ValueError as error:
        return str(error)
    return ""


def test_an_url_that_is_none_and_a_server_that_is_not_there(demo):
    for url in NO_URLS:
        with pytest.raises(ValueError, match=re.escape(f"grpc://host:port or grpc+tls://host:port, got {url!r}")):
            open_remote(url)
    with pytest.raises(ValueError, match="patience_seconds must be a number, got '3'"):
        open_remote("grpc://localhost:1", patience_seconds="3")
    with pytest.raises(
        ServerGoneError, match=r"no answer from grpc://127\.0\.0\.1:1 for 0 s .*; start `corpusmill serve`"
    ):
        open_remote("grpc://127.0.0.1:1", patience_seconds=0)


def start_server(folder: Path, port: int = 0) -> tuple[subprocess.Popen, str]:
    """Run the command; its one line says where it listens."""
    process = subprocess.Popen(
        [sys.executable, "-m", "jobs.command", "serve", "demo", "--port", str(port)],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT), "CORPUSMILL_STREAM_TOKEN": "secret"},
        stdout=subprocess.PIPE,
        text=True,
    )
    return process, re.search(r"grpc://[\d.:]+", process.stdout.readline())[0]


def test_a_server_killed_and_started_again_goes_on_with_the_next_sample(demo, tmp_path, monkeypatch):
    """The stream notices nothing but the time that it takes."""
    monkeypatch.setattr(flight_client, "CHUNK", 4)
    (tmp_path / "corpusmill.toml").write_text(f'[lake]\nroot = "{demo.settings.store.root}"\n')
    whole = spelled(MixtureStream(demo.settings, "demo"))
    server, url = start_server(tmp_path)
    try:
        remote = iter(open_remote(url, token="secret"))
        taken = [next(remote) for _ in range(10)]
        server.kill()
        server.communicate()
        server, _ = start_server(tmp_path, int(url.rpartition(":")[2]))
        assert spelled([*taken, *remote]) == whole
    finally:
        server.kill()
        server.communicate()


def test_an_open_address_needs_a_token_and_a_port_may_be_taken(demo, served, capfd):
    arguments = {"settings": demo.settings, "mix": "demo", "say": print}
    with pytest.raises(
        ValueError, match=r"whoever reaches 0\.0\.0\.0:0 could read the mix: set CORPUSMILL_STREAM_TOKEN"
    ):
        serve(**arguments, host="0.0.0.0", port=0, token=None)
    port = int(served[0].rpartition(":")[2])
    with pytest.raises(ValueError, match=rf"cannot listen on 127\.0\.0\.1:{port}; is the port taken\?"):
        serve(**arguments, host="127.0.0.1", port=port, token="secret")
    assert capfd.readouterr() == ("", ""), "gRPC said nothing beside"
