"""Files of a repository and the licence that holds for each."""

import pyarrow as pa
import pytest

from corpusmill.curate.licenses import UNKNOWN
from corpusmill.lake.store import Store, StoreSettings
from corpusmill.read.snapshot import fetch_payloads, list_records

MIT = """MIT License
Permission is hereby granted, free of charge, to any person obtaining a copy of this software, to deal in it.
The above copyright notice and this permission notice shall be included in all copies.
"""
BSD = "Licensed under the BSD license."
GPL = "Under the terms of the GNU General Public License, version 3."


@pytest.fixture
def read(tmp_path):
    def read_files(files: dict[str, str], **options):
        for name, content in files.items():
            path = tmp_path / "s1" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(content)
        store = Store(StoreSettings(root=str(tmp_path)))
        listed = pa.concat_tables(
            list_records(dataset="d", snapshot="s1", format="checkout", uri="s1", store=store, options=options)
        )
        one_by_one = [
            table
            for uri in listed["file"].to_pylist()
            for table in list_records(
                dataset="d", snapshot="s1", format="checkout", uri=uri, store=store, options=options
            )
        ]
        assert pa.concat_tables(one_by_one).equals(listed)
        fetched = pa.concat_tables(fetch_payloads(listed, store))
        return listed, fetched

    return read_files


def test_source_files_are_listed_without_the_repository_s_own(read):
    files = {
        "repo/LICENSE": MIT,
        "repo/src/a.py": "x = 1\n",
        "repo/src/b.rs": "fn main() {}\n",
        "repo/.git/hooks/c.py": "no",
        "repo/.github/d.yml": "no",
        "repo/logo.png": "no",
    }
    listed, fetched = read(files)
    assert listed["locator"].to_pylist() == ["repo/src/a.py", "repo/src/b.rs"]
    assert listed["declared_license"].to_pylist() == ["MIT", "MIT"]
    metas = [dict(meta) for meta in listed["meta"].to_pylist()]
    assert [(meta["language"], meta["package"]) for meta in metas] == [("Python", "repo"), ("Rust", "repo")]
    assert fetched["payload"].to_pylist() == [b"x = 1\n", b"fn main() {}\n"]


def test_nearest_licence_holds(read):
    files = {
        "a/COPYING": GPL,
        "a/x.py": "",
        "a/vendor/y.py": "",
        "a/vendor/LICENSE.txt": MIT,
        "b/LICENSE-MIT": MIT,
        "b/LICENSE-BSD": BSD,
        "b/z.py": "",
        "c/none.py": "",
        "d/LICENSE": "Ask me.",
        "d/own.py": "",
    }
    listed, _ = read(files)
    found = dict(zip(listed["locator"].to_pylist(), listed["declared_license"].to_pylist(), strict=True))
    assert found == {
        "a/x.py": "GPL-3.0-only",
        "a/vendor/LICENSE.txt": "MIT",
        "a/vendor/y.py": "MIT",
        "b/z.py": "LicenseRef-BSD AND MIT",
        "c/none.py": None,
        "d/own.py": UNKNOWN,
    }


def test_options_choose_files_and_fill_in_what_no_file_says(read):
    listed, _ = read({"a/x.py": "", "a/y.rs": ""}, include=["*.py"], declared_license="Apache-2.0")
    assert listed["declared_license"].to_pylist() == ["Apache-2.0"]
