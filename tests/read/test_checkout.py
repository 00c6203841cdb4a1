"""Files of a repository and the licence that holds for each."""

from pathlib import Path

import pyarrow as pa
import pytest

from corpusmill.curate.license_notices import find_license_file
from corpusmill.lake.store import Store, StoreSettings
from corpusmill.read.checkout import UNIDENTIFIED
from corpusmill.read.license_files import is_license_file
from corpusmill.read.snapshot import fetch_payloads, list_records

LICENSES = Path(__file__).parents[3] / "shared/data/code_src_licensed/dep5"
MIT = """MIT License
Permission is hereby granted, free of charge, to any person obtaining a copy of this software, to deal in it.
The above copyright notice and this permission notice shall be included in all copies.
"""
BSD = "SPDX-License-Identifier: BSD-2-Clause\n\nRedistribution and use in source and binary forms, with or without modification, are permitted:"
GPL = "GNU GENERAL PUBLIC LICENSE\n   Version 3, 29 June 2007"


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
        "b/z.py": "BSD-2-Clause AND MIT",
        "c/none.py": None,
        "d/own.py": UNIDENTIFIED,
    }


def test_options_choose_files_and_fill_in_what_no_file_says(read):
    listed, _ = read({"a/x.py": "", "a/y.rs": ""}, include=["*.py"], declared_license="Apache-2.0")
    assert listed["declared_license"].to_pylist() == ["Apache-2.0"]


def test_real_licence_files():
    if not LICENSES.exists():
        pytest.skip("needs ../shared/data/code_src_licensed")
    names = {"cjson": "MIT", "fmtlib": "MIT", "google-uuid": "BSD-3-Clause", "hashie": "MIT", "parsedown": "MIT"}
    names |= {"haskell-split": "BSD-3-Clause", "nanoid": "MIT", "rxjs": "Apache-2.0", "semver": "ISC", "bats": "MIT"}
    found = {name: find_license_file((LICENSES / f"{name}.LICENSE").read_text()) for name in names}
    assert found == names
    assert find_license_file((LICENSES / "ocaml-re.LICENSE").read_text()) not in ("MIT", None)


@pytest.mark.parametrize("name", ["LICENSE", "licence.md", "COPYING", "LICENSE-MIT", "UNLICENSE", "MIT-LICENSE.txt"])
def test_licence_files_are_known_by_name(name):
    assert is_license_file(name)


@pytest.mark.parametrize("name", ["license.py", "LICENSES.json", "licensed.txt", "copying_data.h", "README"])
def test_other_files_are_none(name):
    assert not is_license_file(name)
