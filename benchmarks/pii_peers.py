"""Runs one peer's search for personal data; started with the peer's own python, which has nothing of ours.

`python pii_peers.py presidio|datatrove IN OUT`: IN holds a JSON list of texts, OUT gets {"version", "seconds", "spans"}, a
list of [kind, start, end] per text (empty for datatrove, which only replaces). Seconds are of the processor, without start-up.
"""

import json
import sys
import time
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

ENTITIES = {
    "EMAIL_ADDRESS": "email",
    "IP_ADDRESS": "ip_address",
    "PHONE_NUMBER": "phone",
    "IBAN_CODE": "iban",
    "CREDIT_CARD": "card",
    "US_SSN": "us_ssn",
}
"""The peer's names of the kinds that the annotated sentences have and patterns can find."""
_WARM_UP = "mail ann@mill.org or call +44 20 7946 0958"


def presidio() -> Callable[[str], list[tuple[str, int, int]]]:
    """Return presidio's analyzer with its pattern recognizers, over a spaCy pipeline that only splits words."""
    import spacy
    from presidio_analyzer import AnalyzerEngine, RecognizerRegistry
    from presidio_analyzer.nlp_engine import SpacyNlpEngine

    class Blank(SpacyNlpEngine):
        def __init__(self) -> None:
            super().__init__()
            self.nlp = {"en": spacy.blank("en")}
            self.nlp["en"].max_length = 10**9

    registry = RecognizerRegistry()
    registry.load_predefined_recognizers(languages=["en"])
    analyzer = AnalyzerEngine(nlp_engine=Blank(), registry=registry, supported_languages=["en"])

    def find(text: str) -> list[tuple[str, int, int]]:
        found = analyzer.analyze(text, "en", entities=list(ENTITIES))
        return [(ENTITIES[one.entity_type], one.start, one.end) for one in found]

    return find


def datatrove() -> Callable[[str], list[tuple[str, int, int]]]:
    """Return datatrove's formatter, which replaces addresses and names no span."""
    from datatrove.pipeline.formatters.pii import PIIFormatter

    formatter: Any = PIIFormatter()

    def find(text: str) -> list[tuple[str, int, int]]:
        formatter.format(text)
        return []

    return find


def main(name: str, texts_file: str, found_file: str) -> None:
    """Time the peer over all texts of a file and write what it found."""
    texts = json.loads(Path(texts_file).read_text(encoding="utf-8"))
    package = {"presidio": "presidio-analyzer", "datatrove": "datatrove"}[name]
    find = {"presidio": presidio, "datatrove": datatrove}[name]()
    find(_WARM_UP)
    started = time.process_time()
    spans = [find(text) for text in texts]
    seconds = time.process_time() - started
    found = {"version": version(package), "seconds": seconds, "spans": spans}
    Path(found_file).write_text(json.dumps(found), encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
