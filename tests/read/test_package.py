"""Source packages: members, licences, damage."""

import io
import tarfile
import zipfile

import pyarrow as pa
import pytest

from corpusmill.lake.store import Store, StoreSettings
from corpusmill.read.license_files import is_license_file
from corpusmill.read.package_license import declared_in_manifest, declared_license
from corpusmill.read.snapshot import fetch_payloads, list_records

GPL = "Classifier: License :: OSI Approved :: GNU General Public License"
METADATA = "Metadata-Version: 2.1\nName: p\nLicense-Expression: MIT\n\nLicense: GPL is only mentioned here\n"
MIT = b"Released under the MIT license.\n"
FILES = {
    "p-1/src/b.py": b"print(1)\n",
    "p-1/PKG-INFO": METADATA.encode(),
    "p-1/src/a.c": b"int main;\n",
    "p-1/logo.png": b"\x89PNG",
    "p-1/sub/PKG-INFO": b"License: GPL\n",
}


def tar(files: dict[str, bytes] | list[tuple[str, bytes]], mode: str = "w:gz") -> bytes:
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode=mode) as archive:
        for name, content in files.items() if isinstance(files, dict) else files:
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
    return data.getvalue()


def wheel(files: dict[str, bytes]) -> bytes:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return data.getvalue()


@pytest.fixture
def read(tmp_path):
    def read_file(name: str, data: bytes, **options):
        (tmp_path / name).write_bytes(data)
        store = Store(StoreSettings(root=str(tmp_path)))
        listed = pa.concat_tables(
            list_records(dataset="d", snapshot="s", format="package", uri=str(tmp_path), store=store, options=options)
        )
        fetched = pa.concat_tables(fetch_payloads(listed, store))
        return listed, list(zip(fetched["payload"].to_pylist(), fetched["failure"].to_pylist(), strict=True))

    return read_file


def test_text_members_carry_licence_language_and_path(read):
    listed, fetched = read("p-1.tar.gz", tar(FILES))
    assert listed["locator"].to_pylist() == ["p-1.tar.gz#p-1/src/b.py", "p-1.tar.gz#p-1/src/a.c"]
    assert listed["declared_license"].to_pylist() == ["MIT", "MIT"]
    assert listed["content_type"].to_pylist() == ["text/x-python", "text/x-c"]
    metas = [dict(meta) for meta in listed["meta"].to_pylist()]
    assert [(meta["language"], meta["path"], meta["package"]) for meta in metas] == [
        ("Python", "p-1/src/b.py", "p-1"),
        ("C", "p-1/src/a.c", "p-1"),
    ]
    assert fetched == [(b"print(1)\n", None), (b"int main;\n", None)]


@pytest.mark.parametrize("mode", ["w", "w:gz", "w:bz2", "w:xz"])
def test_every_tar_is_read(read, mode):
    suffix = {"w": "tar", "w:gz": "tgz", "w:bz2": "tar.bz2", "w:xz": "tar.xz"}[mode]
    assert len(read(f"p-1.{suffix}", tar(FILES, mode), include=["*.py"])[1]) == 1


def test_wheel_is_read_with_its_metadata(read):
    files = {"p/a.py": b"x = 1\n", "p-1.dist-info/METADATA": b"License: Apache 2.0\n"}
    listed, fetched = read("p-1-py3-none-any.whl", wheel(files))
    assert listed["declared_license"].to_pylist() == ["Apache-2.0"]
    assert fetched == [(b"x = 1\n", None)]


@pytest.mark.parametrize(
    ("story", "files", "license"),
    [
        ("no metadata", {"p-1/LICENSE": MIT, "p-1/a.py": b""}, "MIT"),
        ("metadata that says nothing", {"p-1/PKG-INFO": b"Name: p\n", "p-1/COPYING": MIT, "p-1/a.py": b""}, "MIT"),
        ("metadata goes first", {"p-1/LICENSE": b"ask me", "p-1/PKG-INFO": METADATA.encode(), "p-1/a.py": b""}, "MIT"),
        ("a vendored licence is not the package's", {"p-1/src/v/LICENSE": MIT, "p-1/a.py": b""}, None),
        ("a text nobody knows", {"p-1/LICENSE": b"ask me first " * 20, "p-1/a.py": b""}, "LicenseRef-Unknown"),
        ("a few words say nothing", {"p-1/LICENSE": b"YEAR: 2015", "p-1/a.py": b""}, None),
    ],
)
def test_licence_file_speaks_where_metadata_does_not(read, story, files, license):
    listed, _ = read("p-1.tar.gz", tar(files), include=["*.py"])
    assert listed["declared_license"].to_pylist() == [license], story


def test_patterns_choose_members(read):
    assert [row[0] for row in read("p-1.tar.gz", tar(FILES), include=["*.py", "*.c"], exclude=["*/src/b*"])[1]] == [
        b"int main;\n"
    ]


def test_member_stored_twice_has_two_ids(read):
    listed, fetched = read("p.tar", tar([("a.py", b"one"), ("a.py", b"two")], "w"))
    assert len(set(listed["doc_id"].to_pylist())) == 2
    assert [payload for payload, _ in fetched] == [b"one", b"two"]


def test_name_that_is_no_utf8_is_read(read):
    data = bytearray(tar({"cafX.py": b"x"}, "w"))
    data[data.index(b"cafX") + 3] = 0xE9
    header = data[:512]
    header[148:156] = b" " * 8
    data[148:156] = b"%06o\0 " % sum(header)
    listed, fetched = read("p.tar", bytes(data))
    assert listed["locator"].to_pylist() == ["p.tar#caf\ufffd.py"]
    assert fetched == [(b"x", None)]


def test_cut_archive_keeps_the_members_before_the_cut(read):
    import random

    noise = random.Random(1).randbytes(200_000)
    data = tar([("a.py", b"x"), ("b.py", noise), ("c.py", b"y")])
    listed, fetched = read("p.tar.gz", data[: len(data) // 2])
    assert listed["failure"].to_pylist() == [None, None, "damaged_archive"]
    assert fetched == [(b"x", None), (None, "damaged_archive"), (None, "damaged_archive")]


def test_garbled_archives_are_failed_rows(read):
    assert read("p.zip", b"PK no zip")[1] == [(None, "damaged_archive")]


@pytest.mark.parametrize(
    ("metadata", "expected"),
    [
        ("License-Expression: MIT OR Apache-2.0\nLicense: GPL\n", "MIT OR Apache-2.0"),
        ("License: bsd-3-clause\n", "BSD-3-Clause"),
        (f"License: GPL\n{GPL} v2 or later (GPLv2+)\n", "GPL-2.0-or-later"),
        ("License: BSD\nClassifier: License :: OSI Approved :: BSD License\n", "LicenseRef-BSD"),
        ("License: BSD\n", "LicenseRef-BSD"),
        ("Classifier: License :: OSI Approved\n", None),
        (f"Classifier: License :: Public Domain\n{GPL} (GPL)\n", "LicenseRef-PublicDomain AND LicenseRef-GPL"),
        ("License: UNKNOWN\n", None),
        (f"License: MIT\n{GPL} v2 (GPLv2)\n", "GPL-2.0-only"),
        ("License: BSD-3-Clause\nClassifier: License :: OSI Approved :: BSD License\n", "BSD-3-Clause"),
        ("License: My own terms, ask me\n", "LicenseRef-My-own-terms-ask-me"),
        ("Name: p\n\nLicense: MIT in the description does not count\n", None),
        ("", None),
    ],
)  # fmt: skip
def test_declared_license(metadata, expected):
    assert declared_license(metadata) == expected


GPL_NOTICE = "under the terms of the GNU General Public License as published by the FSF; version 2 of the License.\n"


def test_members_know_the_licence_file_nearest_above(read):
    files = {
        "p-1/LICENSE": b"The MIT License\n",
        "p-1/a.py": b"a",
        "p-1/vendor/COPYING": GPL_NOTICE.encode(),
        "p-1/vendor/deep/b.py": b"b",
        "p-1/vendored.py": b"c",
        "p-1/license.py": b"# GPL-3.0\n",
    }
    listed, _ = read("p-1.tar.gz", tar(files), include=["*.py"])
    named = {dict(meta)["path"]: dict(meta).get("license_file") for meta in listed["meta"].to_pylist()}
    assert named == {
        "p-1/a.py": "MIT",
        "p-1/vendor/deep/b.py": "GPL-2.0-only",
        "p-1/vendored.py": "MIT",
        "p-1/license.py": "MIT",
    }
    assert listed["declared_license"].to_pylist() == ["MIT", "GPL-2.0-only", "MIT", "MIT"]


def test_licence_file_in_a_wheels_metadata_speaks_for_all_of_it(read):
    files = {"p/a.py": b"x", "p-1.dist-info/licenses/LICENSE.txt": b"The MIT License\n"}
    listed, _ = read("p-1-py3-none-any.whl", wheel(files))
    assert dict(listed["meta"].to_pylist()[0])["license_file"] == "MIT"


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        ("package.json", '{"license": "MIT"}', "MIT"),
        ("package.json", '{"license": {"type": "ISC"}}', "ISC"),
        ("package.json", '{"license": "UNLICENSED"}', "LicenseRef-Proprietary"),
        ("package.json", '{"license": "SEE LICENSE IN TERMS.md"}', None),
        ("package.json", '{"license": 3}', None),
        ("package.json", "[" * 100_000, None),
        ("composer.json", '{"license": ["MIT", "GPL-2.0-only"]}', "MIT OR GPL-2.0-only"),
        ("Cargo.toml", '[package]\nlicense = "MIT/Apache-2.0"\n', "MIT OR Apache-2.0"),
        ("Cargo.toml", "package = ", None),
    ],
)
def test_other_manifests_declare_licences(name, content, expected):
    assert declared_in_manifest(name, content) == expected


def test_manifest_of_an_npm_package_is_read(read):
    listed, _ = read("p-1.tgz", tar({"package/package.json": b'{"license": "MIT"}', "package/a.js": b"1"}))
    assert set(listed["declared_license"].to_pylist()) == {"MIT"}


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        *(("LICENSE", True), ("licence.md", True), ("LICENSE-MIT", True), ("COPYING", True), ("COPYING.LESSER", True)),
        *(("LICENSE.MIT.txt", True), ("UNLICENSE", True), ("mit-license.txt", True), ("LICENSES", True)),
        *(("license.py", False), ("license_check.go", False), ("LICENSE.json", False), ("licensee.txt", False)),
        *(("MIT-LICENSE.txt", True), ("licensed.txt", False), ("LICENSES.json", False), ("copying_data.h", False)),
        *(("copyright", False), ("README", False), ("", False)),
    ],
)
def test_names_of_licence_files(name, expected):
    assert is_license_file(name) is expected


@pytest.mark.parametrize("path", ["/abs/a.py", "//a.py", "../../a.py", "/a.py", "./a.py"])
def test_member_with_a_path_from_the_root_has_no_licence_file_above_it(read, path):
    listed, fetched = read("p-1.tar.gz", tar({path: b"x = 1\n"}))
    assert fetched == [(b"x = 1\n", None)]
    assert "license_file" not in dict(listed["meta"].to_pylist()[0])
