"""The licence that a package's metadata declares, as an SPDX expression.

Python: `License-Expression` (PEP 639) stands alone; else `License` and the classifiers, the strictest of them, and a
`License` that is a whole text is recognised as one. Other manifests: the `license` of `package.json`, `composer.json` and
`Cargo.toml`. Classifiers that name no version stay that vague: `LicenseRef-BSD` is some BSD licence.
"""

import email.parser
import json
import re
import tomllib
from typing import Any

from corpusmill.curate.license_evidence import resolve_license
from corpusmill.curate.license_notices import find_notice
from corpusmill.curate.license_texts import find_license_texts
from corpusmill.curate.licenses import is_known

_CLASSIFIERS = {
    "Apache Software License": "Apache-2.0",
    "BSD License": "LicenseRef-BSD",
    "Boost Software License 1.0 (BSL-1.0)": "BSL-1.0",
    "CC0 1.0 Universal (CC0 1.0) Public Domain Dedication": "CC0-1.0",
    "GNU Affero General Public License v3": "AGPL-3.0-only",
    "GNU Affero General Public License v3 or later (AGPLv3+)": "AGPL-3.0-or-later",
    "GNU General Public License (GPL)": "LicenseRef-GPL",
    "GNU General Public License v2 (GPLv2)": "GPL-2.0-only",
    "GNU General Public License v2 or later (GPLv2+)": "GPL-2.0-or-later",
    "GNU General Public License v3 (GPLv3)": "GPL-3.0-only",
    "GNU General Public License v3 or later (GPLv3+)": "GPL-3.0-or-later",
    "GNU Lesser General Public License v2 (LGPLv2)": "LGPL-2.0-only",
    "GNU Lesser General Public License v2 or later (LGPLv2+)": "LGPL-2.0-or-later",
    "GNU Lesser General Public License v3 (LGPLv3)": "LGPL-3.0-only",
    "GNU Lesser General Public License v3 or later (LGPLv3+)": "LGPL-3.0-or-later",
    "GNU Library or Lesser General Public License (LGPL)": "LicenseRef-LGPL",
    "ISC License (ISCL)": "ISC",
    "MIT License": "MIT",
    "MIT No Attribution License (MIT-0)": "MIT-0",
    "Mozilla Public License 2.0 (MPL 2.0)": "MPL-2.0",
    "Public Domain": "LicenseRef-PublicDomain",
    "Python Software Foundation License": "PSF-2.0",
    "The Unlicense (Unlicense)": "Unlicense",
    "Universal Permissive License (UPL)": "UPL-1.0",
    "zlib/libpng License": "Zlib",
}

_SPELLINGS = {
    "apache": "Apache-2.0",
    "apache 2": "Apache-2.0",
    "apache 2.0": "Apache-2.0",
    "apache license 2.0": "Apache-2.0",
    "apache license, version 2.0": "Apache-2.0",
    "bsd": "LicenseRef-BSD",
    "bsd license": "LicenseRef-BSD",
    "bsd 2-clause": "BSD-2-Clause",
    "bsd 3-clause": "BSD-3-Clause",
    "3-clause bsd": "BSD-3-Clause",
    "new bsd": "BSD-3-Clause",
    "gpl": "LicenseRef-GPL",
    "gplv2": "GPL-2.0-only",
    "gplv3": "GPL-3.0-only",
    "lgpl": "LicenseRef-LGPL",
    "mit license": "MIT",
    "the mit license": "MIT",
    "mpl 2.0": "MPL-2.0",
    "psf": "PSF-2.0",
    "public domain": "LicenseRef-PublicDomain",
}

_LONG_CHARACTERS = 200
"""A `License` above this is a licence's text, not its name."""


def declared_license(metadata: str) -> str | None:
    """Return the SPDX expression that a PKG-INFO or METADATA text declares, or None when it declares none."""
    headers = email.parser.HeaderParser().parsestr(metadata)
    if expression := (headers.get("License-Expression") or "").strip():
        return expression
    value = (headers.get("License") or "").strip()
    named = value if is_known(value) and value.lower() not in _SPELLINGS else None
    classified = [
        _from_classifier(value) for value in headers.get_all("Classifier", []) if value.startswith("License ::")
    ]
    found = list(dict.fromkeys(license for license in classified if license))
    if named:
        return resolve_license((named, *found))  # in SPDX's spelling
    return " AND ".join(found) or _from_free_text(value)


def declared_in_manifest(name: str, content: str) -> str | None:
    """Return the licence that a `package.json`, `composer.json` or `Cargo.toml` declares; None when it declares none."""
    try:
        manifest = tomllib.loads(content).get("package", {}) if name == "Cargo.toml" else json.loads(content)
    except (ValueError, RecursionError):
        return None
    value = manifest.get("license") if isinstance(manifest, dict) else None
    return _from_manifest(value)


def _from_manifest(value: Any) -> str | None:
    if isinstance(value, dict):  # {"type": "MIT", "url": ...}, as npm had it before 2014
        value = value.get("type")
    if isinstance(value, list):  # Composer: any of them
        return " OR ".join(one for one in value if isinstance(one, str)) or None
    if not isinstance(value, str) or not value.strip() or value.upper().startswith("SEE LICENSE IN"):
        return None
    return "LicenseRef-Proprietary" if value == "UNLICENSED" else value.replace("/", " OR ").strip()


def _from_free_text(value: str) -> str | None:
    if len(value) > _LONG_CHARACTERS and (recognised := find_license_texts(value)):
        return " AND ".join(recognised)
    named = _first_line(value)
    if not named or named.lower() in ("unknown", "none"):
        return None
    return _SPELLINGS.get(named.lower()) or find_notice(named) or f"LicenseRef-{_slug(named)}"


def _from_classifier(classifier: str) -> str | None:
    name = classifier.rsplit("::", 1)[-1].strip()
    if name == "OSI Approved":
        return None
    return _CLASSIFIERS.get(name, f"LicenseRef-{_slug(name)}")


def _first_line(text: str) -> str:
    return text.strip().split("\n", 1)[0].strip()


def _slug(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9.]+", "-", name).strip("-")[:60] or "unnamed"
