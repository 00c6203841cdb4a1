"""Functions named as module:function."""

import json

import pytest

from corpusmill.named import named_function


def test_name_gives_the_function():
    assert named_function("json:dumps") is json.dumps


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("json", "a function is named as module:function, got 'json'"),
        ("json:", "a function is named as module:function, got 'json:'"),
        ("a:b:c", "a function is named as module:function, got 'a:b:c'"),
        ("jsn:dumps", "'jsn:dumps' names no function: there is no module 'jsn' here"),
        ("json:dump_all", "'json:dump_all' names no function: json has no 'dump_all'"),
        ("json:__name__", "'json:__name__' names a str, not a function"),
    ],
)
def test_wrong_name_is_a_clear_message(name, message):
    with pytest.raises(ValueError) as raised:
        named_function(name)
    assert str(raised.value) == message


def test_error_inside_the_module_is_its_own(tmp_path, monkeypatch):
    (tmp_path / "toy_broken.py").write_text("import not_installed_anywhere\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ModuleNotFoundError, match="not_installed_anywhere"):
        named_function("toy_broken:run")
