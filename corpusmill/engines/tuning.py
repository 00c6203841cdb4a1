"""What may be tuned of one engine. The names are those of vLLM's EngineArgs (0.32); None leaves a choice to the engine.

Most of it changes how fast answers come. `quantization`, `dtype` and `kv_cache_dtype` change the numbers too: a quantised
model is another model, and its answers are named so (see `model_suffix`).
"""

import difflib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, Self

DTYPES = ("auto", "bfloat16", "float16", "float32")
KV_CACHE_DTYPES = ("auto", "bfloat16", "float16", "fp8", "fp8_e4m3", "fp8_e5m2")
SPECULATIVE = ("ngram", "suffix")
"""n-gram: what followed the same tokens in the prompt. Suffix: in the prompt and in earlier answers (needs the package
arctic-inference). Other methods need a second model."""
QUANTIZATIONS = (
    *("awq", "auto_awq", "awq_marlin", "gptq", "auto_gptq", "gptq_marlin", "compressed-tensors", "torchao", "quark"),
    *("modelopt", "modelopt_fp4", "modelopt_mxfp8", "modelopt_mixed", "mxfp4", "mxfp8", "humming", "inc", "moe_wna16"),
    *("fp8", "fp8_per_tensor", "fp8_per_block", "fp8_per_channel", "int8_per_channel_weight_only", "nvfp4_per_token"),
)
_COUNTS = (
    "max_num_batched_tokens",
    "max_num_seqs",
    "speculative_tokens",
    "ngram_max",
    "tensor_parallel_size",
)
_SPECULATION = ("speculative", "speculative_tokens", "ngram_max")
_SWITCHES = ("enable_prefix_caching", "enable_chunked_prefill", "enforce_eager")
_CHOICES = {
    "speculative": SPECULATIVE,
    "quantization": QUANTIZATIONS,
    "dtype": DTYPES,
    "kv_cache_dtype": KV_CACHE_DTYPES,
}


@dataclass(frozen=True, kw_only=True)
class EngineTuning:
    """Settings of one engine; raises ValueError for what no engine could take."""

    max_num_batched_tokens: int | None = None
    """Tokens of one step, of prompts and answers together."""
    max_num_seqs: int | None = None
    """Requests in the running batch."""
    gpu_memory_utilization: float | None = None
    """Share of a GPU's memory; on a CPU `kv_cache_gib` says what the cache takes."""
    enable_prefix_caching: bool | None = None
    enable_chunked_prefill: bool | None = None
    speculative: str | None = None
    """One of `SPECULATIVE`: tokens are guessed without a second model, and checked by the model."""
    speculative_tokens: int | None = None
    """How many are guessed at a time; needed for `ngram`, by vLLM's own choice 24 for `suffix`."""
    ngram_max: int | None = None
    """For `ngram`: how many tokens must be the same, at most (by vLLM's own choice 5, and no fewer)."""
    quantization: str | None = None
    dtype: str | None = None
    kv_cache_dtype: str | None = None
    tensor_parallel_size: int | None = None
    """GPUs of one engine."""
    enforce_eager: bool | None = None
    """False compiles the model at the start, which takes minutes on a CPU."""

    def __post_init__(self) -> None:
        for name in _COUNTS:
            _check_count(name, getattr(self, name))
        for name in _SWITCHES:
            if not isinstance(getattr(self, name), bool | None):
                raise ValueError(f"{name} must be true or false, got {getattr(self, name)!r}")
        for name, choices in _CHOICES.items():
            if getattr(self, name) not in (None, *choices):
                raise ValueError(f"{name} must be one of {', '.join(choices)}, got {getattr(self, name)!r}")
        share = self.gpu_memory_utilization
        if share is not None and (isinstance(share, bool) or not isinstance(share, int | float) or not 0 < share <= 1):
            raise ValueError(f"gpu_memory_utilization must be a share above 0 and at most 1, got {share!r}")
        self._check_together()

    def _check_together(self) -> None:
        if self.speculative is None and (self.speculative_tokens or self.ngram_max):
            raise ValueError("speculative_tokens and ngram_max need speculative to be ngram or suffix, got none")
        if self.speculative == "ngram" and not self.speculative_tokens:
            raise ValueError("speculative ngram needs speculative_tokens, such as 4")
        if self.speculative == "suffix" and self.ngram_max:
            raise ValueError("ngram_max belongs to speculative ngram, got suffix")
        if self.max_num_batched_tokens and self.max_num_seqs and self.max_num_batched_tokens < self.max_num_seqs:
            raise ValueError(
                "max_num_batched_tokens must be at least max_num_seqs: every running request takes a token a step, got "
                f"{self.max_num_batched_tokens} and {self.max_num_seqs}"
            )

    def engine_args(self, device: str) -> dict[str, Any]:
        """Return the part of vLLM's EngineArgs that is set; a model on a CPU is not compiled unless that is asked for."""
        own = {name: value for name, value in self.to_json().items() if name not in _SPECULATION}
        if device == "cpu":
            own.setdefault("enforce_eager", True)
        return own if self.speculative is None else own | {"speculative_config": self._speculation()}

    def _speculation(self) -> dict[str, Any]:
        known = {
            "num_speculative_tokens": self.speculative_tokens,
            "prompt_lookup_max": self.ngram_max,
            "prompt_lookup_min": self.ngram_max and min(2, self.ngram_max),
        }
        return {"method": self.speculative, **{name: value for name, value in known.items() if value}}

    @property
    def model_suffix(self) -> str:
        """What makes the model another one: its quantisation; empty without."""
        return f"+{self.quantization}" if self.quantization else ""

    @property
    def label(self) -> str:
        """The settings on one line, such as `max_num_seqs=128, speculative=ngram`."""
        return ", ".join(f"{name}={_plain(value)}" for name, value in self.to_json().items()) or "the engine's defaults"

    def to_json(self) -> dict[str, Any]:
        """Return what is set."""
        return {name: value for name, value in asdict(self).items() if value is not None}

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Self:
        """Return the settings of a table; an unknown name is a ValueError that tells the nearest."""
        known = [item.name for item in fields(cls)]
        for name in value:
            if name not in known:
                near = difflib.get_close_matches(name, known, n=1)
                hint = f"; did you mean {near[0]!r}?" if near else ""
                raise ValueError(f"unknown engine setting {name!r}{hint} (known: {', '.join(known)})")
        return cls(**value)


def _check_count(name: str, value: Any) -> None:
    if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < 1):
        raise ValueError(f"{name} must be a whole number of at least 1, got {value!r}")


def _plain(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


UNTUNED = EngineTuning(dtype="bfloat16", max_num_seqs=64)
"""What an engine gets where neither the settings nor a tuning table say anything, and the device computes bfloat16."""
