"""The licence gate: expressions, texts, notices, and which of several witnesses is believed."""

import gzip
import json
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from corpusmill.curate.license_evidence import STATISTICS, resolve_license, resolve_licenses
from corpusmill.curate.license_notices import find_license_file, find_notice
from corpusmill.curate.license_texts import find_license_texts
from corpusmill.curate.licenses import PERMISSIVE, UNKNOWN, Strictness, is_allowed, normal_form, strictness

ROOT = Path(__file__).parents[2]
SHARED = ROOT.parent / "shared/data/code_src_licensed"
MIT = """Permission is hereby granted, free of charge, to any person obtaining a copy of this software and associated
documentation files (the "Software"), to deal in the Software without restriction, including without limitation the rights
to use, copy, modify, merge, publish, distribute, sublicense, and/or sell copies of the Software, and to permit persons to
whom the Software is furnished to do so, subject to the following conditions:

The above copyright notice and this permission notice shall be included in all copies or substantial portions of the
Software.

THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR IMPLIED, INCLUDING BUT NOT LIMITED TO THE
WARRANTIES OF MERCHANTABILITY, FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE AUTHORS OR
COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM, DAMAGES OR OTHER LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR OTHERWISE,
ARISING FROM, OUT OF OR IN CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE SOFTWARE."""
BSD_2 = """Redistribution and use in source and binary forms, with or without modification, are permitted provided that the
following conditions are met:
1. Redistributions of source code must retain the above copyright notice, this list of conditions and the following
disclaimer.
2. Redistributions in binary form must reproduce the above copyright notice, this list of conditions and the following
disclaimer in the documentation and/or other materials provided with the distribution.
"""
BSD_3 = """3. Neither the name of the Mill nor the names of its contributors may be used to endorse or promote products derived
from this software without specific prior written permission.
"""
BSD_END = """THIS SOFTWARE IS PROVIDED BY THE COPYRIGHT HOLDERS AND CONTRIBUTORS "AS IS" AND ANY EXPRESS OR IMPLIED WARRANTIES,
INCLUDING, BUT NOT LIMITED TO, THE IMPLIED WARRANTIES OF MERCHANTABILITY AND FITNESS FOR A PARTICULAR PURPOSE ARE
DISCLAIMED. IN NO EVENT SHALL THE COPYRIGHT HOLDER OR CONTRIBUTORS BE LIABLE FOR ANY DIRECT, INDIRECT, INCIDENTAL, SPECIAL,
EXEMPLARY, OR CONSEQUENTIAL DAMAGES (INCLUDING, BUT NOT LIMITED TO, PROCUREMENT OF SUBSTITUTE GOODS OR SERVICES; LOSS OF
USE, DATA, OR PROFITS; OR BUSINESS INTERRUPTION) HOWEVER CAUSED AND ON ANY THEORY OF LIABILITY, WHETHER IN CONTRACT, STRICT
LIABILITY, OR TORT (INCLUDING NEGLIGENCE OR OTHERWISE) ARISING IN ANY WAY OUT OF THE USE OF THIS SOFTWARE, EVEN IF ADVISED
OF THE POSSIBILITY OF SUCH DAMAGE."""
LGPL_NOTICE = """This library is free software; you can redistribute it and/or modify it under the terms of the GNU Lesser
General Public License as published by the Free Software Foundation, with linking exception; either version 2.1 of the
License, or (at your option) any later version."""


@pytest.mark.parametrize(
    ("expression", "allowed", "level"),
    [
        ("MIT", True, Strictness.PERMISSIVE),
        ("apache-2.0 OR GPL-2.0-only", True, Strictness.PERMISSIVE),
        ("MIT AND GPL-3.0-only", False, Strictness.STRONG_COPYLEFT),
        ("(MIT OR GPL-2.0-only) AND MPL-2.0", False, Strictness.WEAK_COPYLEFT),
        ("LGPL-2.1-only WITH OCaml-LGPL-linking-exception", False, Strictness.WEAK_COPYLEFT),
        ("Apache-2.0 WITH LLVM-exception", True, Strictness.PERMISSIVE),
        ("Apache-2.0+", True, Strictness.PERMISSIVE),
        ("GPL-2.0+", False, Strictness.STRONG_COPYLEFT),
        ("LicenseRef-BSD", True, Strictness.PERMISSIVE),
        ("LicenseRef-LGPL", False, Strictness.WEAK_COPYLEFT),
        ("CC-BY-NC-4.0", False, Strictness.RESTRICTED),
        ("SSPL-1.0", False, Strictness.RESTRICTED),
        ("LicenseRef-Ours", False, Strictness.RESTRICTED),
        ("", False, Strictness.RESTRICTED),
        ("MIT GPL", False, Strictness.RESTRICTED),
        ("((MIT", False, Strictness.RESTRICTED),
        ("(" * 5000 + "MIT" + ")" * 5000, False, Strictness.RESTRICTED),
        ("MIT AND " * 400 + "MIT", True, Strictness.PERMISSIVE),
    ],
)
def test_expressions(expression, allowed, level):
    assert is_allowed(expression, PERMISSIVE) is allowed
    assert strictness(expression) is level


def test_default_list_is_permissive():
    assert {license: strictness(license) for license in PERMISSIVE if strictness(license) > Strictness.PERMISSIVE} == {}


@example("()")
@example("(or MIT")
@given(st.text(st.sampled_from("MIT GPL-2.0(AND)OR WITH+\x00ü"), max_size=60))
def test_any_text_is_judged_and_what_cannot_be_read_is_not_allowed(expression):
    assert not is_allowed(expression, PERMISSIVE) or strictness(expression) is Strictness.PERMISSIVE
    if normal_form(expression) == UNKNOWN:
        assert not is_allowed(expression, PERMISSIVE)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (MIT, ["MIT"]),
        ("".join(f" * {line}\n" for line in MIT.splitlines()), ["MIT"]),
        (MIT.replace("persons to", "persons\nto").lower(), ["MIT"]),
        (BSD_2 + BSD_END, ["BSD-2-Clause"]),
        (BSD_2 + BSD_3 + BSD_END, ["BSD-3-Clause"]),
        (f"{BSD_2}{BSD_3}{BSD_END}\n---\nParts are under:\n{MIT}", ["BSD-3-Clause", "MIT"]),
        (MIT[:300], []),
        ("no licence at all, " * 100, []),
        ("", []),
        ("字" * 1000 + "\x00😀", []),
    ],
)
def test_texts(text, expected):
    assert find_license_texts(text) == expected


def test_our_own_licence_is_recognised():
    assert find_license_texts((ROOT / "LICENSE").read_text(encoding="utf-8")) == ["Apache-2.0"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("// SPDX-License-Identifier: mit\n", "MIT"),
        ("/* SPDX-License-Identifier: GPL-2.0-only WITH Linux-syscall-note */", "GPL-2.0-only WITH Linux-syscall-note"),
        ("# SPDX-License-Identifier: MIT OR Apache-2.0", "(MIT OR Apache-2.0)"),
        ("# SPDX-License-Identifier: What I say\n", UNKNOWN),
        (f"/*\n{MIT}\n*/\nint main;", "MIT"),
        (f"(*\n{LGPL_NOTICE}\n*)", "LGPL-2.1-or-later"),
        ("# under the terms of the GNU General Public License version 3.", "GPL-3.0-only"),
        ("# GNU Affero General Public License, version 3 or later", "AGPL-3.0-or-later"),
        ("-- licensed under GPLv2", "GPL-2.0-only"),
        ("-- licensed under the LGPL", "LicenseRef-LGPL"),
        ("# Licensed under the Apache License, Version 2.0 (the 'License')", "Apache-2.0"),
        ("// governed by a BSD-style license that can be found in LICENSE", "LicenseRef-BSD"),
        ("use strict;\n" * 2000 + "under the\nsame terms as Perl itself.", "(Artistic-1.0-Perl OR GPL-1.0-or-later)"),
        ("# MIT licensed, but this part is GPL-3+", "GPL-3.0-only AND MIT"),
        ("// Confidential and proprietary. Do not copy.", UNKNOWN),
        ("import os  # no word of it", None),
        ("", None),
        ("\ufeff\x00\r\n", None),
    ],
)  # fmt: skip
def test_notices(text, expected):
    assert find_notice(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (MIT, "MIT"),
        ("YEAR: 2015\nCOPYRIGHT HOLDER: The Mill", None),
        ("Dual licensed under MIT license", "MIT"),
        (f"{MIT}\nParts are under the terms of the GNU General Public License, version 2.", "MIT AND GPL-2.0-only"),
        ("BSD license\n" + BSD_2 + BSD_END, "BSD-2-Clause"),
        (
            "GPL-compatible doesn't mean that we're distributing Python under the GPL.  All Python licenses, unlike the GPL,"
            " let you distribute a modified version. It is like the MIT license.",
            "MIT",
        ),
        ("You may look at this, but neither copy nor change nor sell it to anybody. " * 5, UNKNOWN),
    ],
)
def test_licence_files(text, expected):
    assert find_license_file(text) == expected


@pytest.mark.parametrize(
    ("witnesses", "expected"),
    [
        ((None, None, None), None),
        (("MIT", None, None), "MIT"),
        (("MIT", None, "GPL-2.0-or-later"), "GPL-2.0-or-later"),
        (("GPL-3.0-only", "MIT", "MIT"), "GPL-3.0-only"),
        (("MIT", "LGPL-2.1-only", None), "LGPL-2.1-only"),
        (("MIT", "Apache-2.0", "MIT"), "MIT AND Apache-2.0"),
        (("LicenseRef-BSD", "BSD-3-Clause", None), "BSD-3-Clause"),
        (("MIT OR Apache-2.0", "MIT", None), "(MIT OR Apache-2.0) AND MIT"),
        (("MIT", UNKNOWN, None), UNKNOWN),
        (("not an expression (", None, "MIT"), UNKNOWN),
    ],
)
def test_the_strictest_witness_decides(witnesses, expected):
    assert resolve_license(witnesses) == expected


@given(
    st.lists(st.sampled_from([None, "MIT", "BSD-3-Clause", "MPL-2.0", "GPL-2.0-only", "MIT OR GPL-2.0-only", "x y"]))
)
def test_no_witness_is_outvoted(witnesses):
    answer = resolve_license(tuple(witnesses))
    assert (answer is None) == (not any(witnesses))
    if answer and is_allowed(answer, PERMISSIVE):
        assert all(is_allowed(one, PERMISSIVE) for one in witnesses if one)


def test_rows_get_their_licence_and_what_each_witness_said(text_rows):
    texts = text_rows("# GPLv3 only\n", "x = 1\n", None, license="MIT", meta=[("license_file", "BSD-3-Clause")])
    found = resolve_licenses(texts)
    assert found.expressions == ["GPL-3.0-only", "MIT AND BSD-3-Clause", "MIT AND BSD-3-Clause"]
    assert tuple(found.statistics) == STATISTICS
    assert [found.statistics[name][0] for name in STATISTICS] == [2, 0, 0, 2, 1]
    assert [str(found.statistics[name][1]) for name in STATISTICS] == ["0.0", "0.0", "0.0", "nan", "0.0"]
    silent = resolve_licenses(text_rows("x = 1\n"))
    assert silent.expressions == [None]


def test_no_copyleft_file_passes_the_permissive_list():
    if not SHARED.exists():
        pytest.skip("needs ../shared/data/code_src_licensed")
    with gzip.open(SHARED / "source_files.jsonl.gz", "rt", encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    by_repo = {file.stem: find_license_file(file.read_text(encoding="utf-8")) for file in SHARED.glob("dep5/*.LICENSE")}
    answers = [resolve_license((None, by_repo.get(row["repo"]), find_notice(row["content"]))) for row in rows]
    copyleft = [row["license"].startswith(("LGPL", "GPL", "Artistic")) for row in rows]
    passed = [bool(answer) and is_allowed(answer, PERMISSIVE) for answer in answers]
    assert sum(both for both in map(all, zip(copyleft, passed, strict=True))) == 0
    assert sum(passed) >= 550
