"""A small real tokenizer file: byte-level, so that any text has tokens and comes back from them."""

import pytest
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors


@pytest.fixture(scope="session")
def tokenizer_file(tmp_path_factory) -> str:
    """A token a byte, then <|end|> and <|start|>. Like files in the wild it asks for truncation and a start token."""
    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    vocabulary = {letter: number for number, letter in enumerate(letters)}
    tokenizer = Tokenizer(models.BPE(vocab=vocabulary, merges=[]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens(["<|end|>", "<|start|>"])
    tokenizer.post_processor = processors.TemplateProcessing(single="<|start|> $A", special_tokens=[("<|start|>", 257)])
    tokenizer.enable_truncation(4)
    path = tmp_path_factory.mktemp("tokenizer") / "tokenizer.json"
    tokenizer.save(str(path))
    return str(path)
