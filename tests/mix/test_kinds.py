"""Values that people write by hand: text for numbers, one value for a tuple, the wrong thing altogether."""

import re

import pytest

from corpusmill.mix.mixture import Continues, Group, Phase
from corpusmill.mix.optimise import Wish
from corpusmill.mix.proxy_design import ProxyDesign
from corpusmill.mix.upsampling import Bucket, Upsampling
from tests.mix.held import component, mixture

PRIOR = {"web": 1.0, "code": 1.0}
BUCKETS = (Bucket(name="low"), Bucket(name="high"))


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: component("web", 1, partitions="2024"), "partitions must be a tuple of str or None, got '2024'; a tuple of"),
        (lambda: component("web", 1, is_synthetic="no"), "component 'web': is_synthetic must be a bool, got 'no'"),
        (lambda: component("web", 1, max_epochs="4"), "component 'web': max_epochs must be a number, got '4'"),
        (lambda: component("web", 1, group=("a", "b")), "component 'web': group must be a str or None, got ('a', 'b')"),
        (lambda: component("web", 1, upsampling=BUCKETS), "upsampling must be a Upsampling or None, got (Bucket(name='low'"),
        (lambda: component(7, 1), "component 7: name must be a str, got 7"),
        (lambda: Group(name="g", group=Group(name="h")), "group 'g': group must be a str or None, got Group(name='h'"),
        (lambda: Phase(name="p", weight=1, weights=[("web", 1)]), "weights must be a mapping from a str to a number, got ["),
        (lambda: Phase(name="p", weight=1, weights={"web": "1"}), "a mapping from a str to a number, got {'web': '1'}"),
        (lambda: Continues(mix_version="a", position="5"), "continues: position must be an int, got '5'"),
        (lambda: mixture(component("web", 1), allowed_licences="MIT"), "allowed_licences must be a tuple of str or None, got"),
        (lambda: mixture(component("web", 1), continues="abc@5"), "continues must be a Continues or None, got 'abc@5'"),
        (lambda: Bucket(name="a", partitions="2024-*"), "bucket 'a': partitions must be a tuple of str or None, got '2024-*'"),
        (lambda: Bucket(name="a", factor="2"), "bucket 'a': factor must be a number or None, got '2'"),
        (lambda: Upsampling(buckets=BUCKETS[0]), "upsampling: buckets must be a tuple of Bucket, got Bucket(name='low'"),
        (lambda: Upsampling(buckets=BUCKETS, drop_below="0.4"), "upsampling: drop_below must be a number, got '0.4'"),
        (lambda: Wish(prior=PRIOR, higher_is_better="acc"), "higher_is_better must be a tuple of str, got 'acc'; a tuple of one"),
        (lambda: Wish(prior=PRIOR, surrogates="linear"), "wish: surrogates must be a tuple of str, got 'linear'"),
        (lambda: Wish(prior={"web": "1", "code": 1}), "wish: prior must be a mapping from a str to a number, got {'web': '1'"),
        (lambda: Wish(prior=PRIOR, pull=float("nan")), "pull must not be negative, got nan"),
        (lambda: Wish(prior=PRIOR, importance={"a": float("nan")}), "importance must hold numbers of at least 0, got {'a'"),
        (lambda: Wish(prior=PRIOR, max_weights={"web": -1}), "max_weights must hold numbers of at least 0, got {'web': -1}"),
        (lambda: ProxyDesign(prior=PRIOR, radius="1"), "design: radius must be a number, got '1'"),
        (lambda: ProxyDesign(prior=PRIOR, num_mixtures="20"), "design: num_mixtures must be an int or None, got '20'"),
        (lambda: ProxyDesign(prior=["web", "code"]), "design: prior must be a mapping from a str to a number, got ['web'"),
    ],
)  # fmt: skip
def test_a_value_of_another_kind_is_refused_where_it_is_written(build, message):
    with pytest.raises(ValueError, match=re.escape(message)) as raised:
        build()
    assert "\n" not in str(raised.value)


def test_lists_do_for_tuples_and_whole_numbers_for_numbers():
    held = component("web", 1, partitions=["2024"], max_epochs=2)
    assert mixture(held, allowed_licences=["MIT"], synthetic_share=[0, 1]).components == (held,)
