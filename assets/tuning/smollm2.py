"""tuning/smollm2: the engine settings of the demo's small model, on the prompts of the sample's rephrasing and translation.

One setting at a time is moved away from vLLM's defaults, but for the number type: where a processor has no instructions for
bfloat16, float32 is the one that matters, and others are tried on top of it. A device with more to win takes a grid:
`combinations` of `corpusmill.tune.search` makes one.
"""

from assets.engine_tuning import tuning_assets
from assets.synthesized import stem_translated, web_rephrased
from corpusmill.engines.tuning import EngineTuning

STYLES = ("question_answer", "distilled")
"""What the small model can write."""

CPU = (
    EngineTuning(max_num_seqs=16),
    EngineTuning(max_num_seqs=32),
    EngineTuning(max_num_seqs=64),
    EngineTuning(max_num_batched_tokens=512),
    EngineTuning(max_num_batched_tokens=8192),
    EngineTuning(enable_prefix_caching=False),
    EngineTuning(enable_chunked_prefill=False, max_num_batched_tokens=8192),
    EngineTuning(speculative="ngram", speculative_tokens=4, ngram_max=4),
    EngineTuning(speculative="suffix"),
    EngineTuning(dtype="float32"),
    EngineTuning(dtype="float32", max_num_seqs=64),
    EngineTuning(dtype="float32", speculative="ngram", speculative_tokens=4, ngram_max=4),
    EngineTuning(quantization="int8_per_channel_weight_only"),
    EngineTuning(enforce_eager=False),
)

ASSETS = tuning_assets(
    "smollm2",
    devices={"cpu": CPU},
    prompts=[
        ("web_rephrased", "web", {style: web_rephrased.RECIPES[style] for style in STYLES}),
        ("stem_translated", "stem", stem_translated.RECIPES),
    ],
)
