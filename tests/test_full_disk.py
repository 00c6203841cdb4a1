"""A disk that is full for real: the device that always is, and a database that may not grow."""

import sqlite3

import pytest
from sqlalchemy import create_engine, text
from sqlalchemy.exc import OperationalError

from corpusmill.full_disk import told_full_disk
from jobs import command


def fill_device() -> None:
    with open("/dev/full", "w") as full:
        full.write("x")
        full.flush()


def fill_database() -> None:
    engine = create_engine("sqlite://")
    with engine.begin() as connection:
        connection.execute(text("create table rows (row blob)"))
        connection.execute(text("pragma max_page_count = 4"))
        connection.execute(text("insert into rows values (zeroblob(100000))"))


def test_what_the_system_and_sqlite_say_is_known_at_any_depth():
    for fill in (fill_device, fill_database):
        with pytest.raises((OSError, OperationalError)) as raised:
            fill()
        told = told_full_disk(raised.value)
        assert told and "no room on its disk" in told and "\n" not in told
        outer = RuntimeError("a step failed")
        outer.__cause__ = raised.value
        assert told_full_disk(outer) == told
    assert told_full_disk(OSError(2, "No such file", "x")) is None
    assert told_full_disk(sqlite3.OperationalError("database is locked")) is None


@pytest.mark.parametrize("fill", [fill_device, fill_database])
def test_a_command_says_so_in_one_line(fill, monkeypatch, capsys):
    monkeypatch.setitem(command.COMMANDS, "status", ("fills a disk", lambda one: None, lambda options: fill()))
    assert command.main(["status"]) == 1
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 1 and lines[0].startswith("corpusmill status: wanted to write ") and "make room" in lines[0]
