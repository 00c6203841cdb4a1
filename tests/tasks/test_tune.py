"""The tuning of an engine as a task: the grid, the winner, what resumes, and what production then loads."""

from pathlib import Path
from typing import Any

import pytest

from assets.engine_tuning import tuning_assets
from corpusmill.document import DOCUMENTS, REQUESTS, TUNING
from corpusmill.engines.model import open_model
from corpusmill.engines.trials import SGLANG
from corpusmill.engines.tuning import EngineTuning
from corpusmill.lake.errors import PartitionMissingError
from corpusmill.lake.files import ShardWriter
from corpusmill.lake.tables import Lake
from corpusmill.settings import Settings, settings_from_table
from corpusmill.synthesize.requests import build_requests
from corpusmill.tasks.inference import generator, inference_engine_settings, local_model
from corpusmill.tasks.task import execute
from corpusmill.tasks.tuned import chosen_tuning, measured_device, tuning_dataset, untuned
from tests.servers.sglang_stand_in import environment
from tests.synthesize.rows import MODEL, documents, recipe

TABLE = "tuning/toy_1b_chat/cpu"
SERVER = "tests.engines.toys.toy_server:start"
TIERS = [{"requests": 2, "keep": 2}, {"requests": 4, "repeats": 2}]
PROMPTS = [{"dataset": "said_anew", "seeds": "web", "variant": "plain", "recipe": recipe().to_json()}]
CANDIDATES = [{"max_num_seqs": 12}, {"max_num_seqs": 20}, {"max_num_seqs": 1}, {"max_num_seqs": 6}]
"""A little faster than the default's 10, much faster, out of memory, wrong answers."""


def settings(folder: Path, **inference: Any) -> Settings:
    model = folder / "Toy-1B.chat"
    if not model.exists():
        model.mkdir(parents=True)
        (model / "model.safetensors").write_bytes(b"weights")
        (model / "config.json").write_text('{"max_position_embeddings": 2048}', encoding="utf-8")
        (model / "tokenizer.json").write_text("{}", encoding="utf-8")
        (model / "chat_template.jinja").write_text("", encoding="utf-8")
    table = {"state_folder": "state", "inference": {"model": str(model), "startup_seconds": 120, **inference}}
    return settings_from_table(table, base=folder)


def commit(lake: Lake, table: str, partition: str, rows: Any, **state: Any) -> None:
    attempt = lake.begin(table, partition, rows.schema)
    writer = ShardWriter(
        lake.store, directory=attempt.directory, name=attempt.attempt, schema=rows.schema, partition=partition
    )
    with writer:
        writer.write(rows)
    lake.commit(attempt, writer.files, state)


def put_winner(made: Settings) -> None:
    """Commit what a tuning on this machine would have found."""
    model = local_model(made)
    measured = {"device": measured_device(made, model), "model_revision": model.revision}
    commit(Lake(made.lake), TABLE, "all", TUNING.empty_table(), winner={"max_num_seqs": 20}, **measured)


@pytest.fixture
def made(tmp_path: Path) -> Settings:
    """A lake with two snapshots of requests."""
    made = settings(tmp_path)
    lake = Lake(made.lake)
    for snapshot, texts in {"2024": ["a", "b", "c"], "2023": ["d", "e"]}.items():
        seeds = documents(*texts, snapshot=snapshot).select(DOCUMENTS.names)
        commit(lake, "curated/web/documents", snapshot, seeds)
        key = lake.store.key(lake.files("curated/web/documents", [snapshot])[0].path)
        asked = build_requests(documents(*texts, snapshot=snapshot, text_file=key), recipe=recipe(), identity=MODEL)
        commit(lake, "synthesized/said_anew/requests", f"plain|{snapshot}", asked.cast(REQUESTS))
    return made


def tune(made: Settings, *candidates: dict[str, Any], task: str = "tune_cpu", **more: Any) -> dict[str, Any]:
    parameters = {"prompts": PROMPTS, "candidates": list(candidates), "tiers": TIERS, "server": SERVER, **more}
    arguments = {"settings": made.to_json(), "dataset": "toy_1b_chat", "partition": "all", "parameters": parameters}
    return execute(task, arguments, lambda message, numbers: None)


def test_the_whole_grid_is_kept_and_the_winner_is_loaded(made: Settings) -> None:
    result = tune(made, *CANDIDATES)
    assert result["counts"] == {
        "rows_in": 5 + 3 * 2,
        "kept": 9,
        "dropped": {},
        "failed": {"out_of_memory": 1, "wrong_answers": 1},
    }
    rows = Lake(made.lake).read(TABLE).select(TUNING.names).to_pylist()
    assert {row["requests"] for row in rows if row["tier"] == 1} == {4}, "of the newest snapshot and the one before"
    assert result["metrics"]["fastest"] == "max_num_seqs=20" == result["metrics"]["engine_settings"]
    assert result["metrics"]["gain_low"] > 1
    grid = {(row["settings"], row["tier"]): row for row in result["listings"]["whole_grid"]}
    assert set(grid) == {*((name, 1) for name in LABELS), *((name, 2) for name in LABELS[:3])}
    assert grid["max_num_seqs=1", 1]["failure"].startswith("out_of_memory: ")

    chosen = chosen_tuning(made, local_model(made))
    assert (chosen.tuning, chosen.source) == (EngineTuning(max_num_seqs=20), TABLE)
    assert inference_engine_settings(made).service["tuning"] == {"max_num_seqs": 20}


LABELS = ["the engine's defaults", "max_num_seqs=12", "max_num_seqs=20", "max_num_seqs=1", "max_num_seqs=6"]


def test_sglang_has_a_table_of_its_own_that_tells_how_to_start_servers(made: Settings, tmp_path: Path) -> None:
    python = environment(tmp_path / "sglang")
    named = settings(tmp_path, sglang_python=python)
    more = {"task": "tune_sglang_cpu", "server": SGLANG, "tiers": [{"requests": 1}]}
    result = tune(named, {"max_num_seqs": 2}, {"speculative": "suffix"}, **more)
    failures = {row["settings"]: row["failure"] for row in result["listings"]["whole_grid"]}
    assert failures["the engine's defaults"] == ""
    assert failures["max_num_seqs=2"] == "crash: exit code 1: NotImplementedError: no such model"
    assert "SGLang has no counterpart of speculative=suffix" in failures["speculative=suffix"]

    model = named.inference.model
    assert result["metrics"]["server_command"] == (
        f"{python} -m sglang.launch_server --model-path {model} --served-model-name Toy-1B.chat --context-length 2048 "
        "--device cpu --random-seed 0"
    )
    state = Lake(named.lake).partition("tuning/toy_1b_chat/sglang_cpu", "all").state
    assert (state["engine"], state["winner"]) == ("sglang 0.5.23", None)
    assert state["server_command"] == result["metrics"]["server_command"]
    assert chosen_tuning(named, local_model(named)).source == "untuned", "no table of vLLM's"


def test_sglang_is_refused_where_nothing_says_where_it_is_or_in_a_table_of_vllm(made: Settings) -> None:
    with pytest.raises(ValueError, match=r"inference\.sglang_python must name the Python of an environment"):
        tune(made, task="tune_sglang_cpu", server=SGLANG)
    with pytest.raises(ValueError, match="which is toy_1b_chat/sglang_cpu: set"):
        tune(made, server=SGLANG)


def test_an_asset_of_sglang_has_a_key_and_a_task_of_its_own() -> None:
    prompts = [("said_anew", "web", {"plain": recipe()})]
    made = tuning_assets("toy", devices={"cpu": [], "cuda": []}, prompts=prompts, server="sglang")
    assert [asset.key.to_user_string() for asset in made] == ["tuning/toy/sglang_cpu", "tuning/toy/sglang_cuda"]
    with pytest.raises(ValueError, match="a tuned server is one of vllm, sglang, got 'tgi'"):
        tuning_assets("toy", devices={"cpu": []}, prompts=prompts, server="tgi")


def test_the_settings_file_has_the_last_word(tmp_path: Path) -> None:
    put_winner(settings(tmp_path))
    own = settings(tmp_path, tuning={"enable_prefix_caching": False})
    chosen = chosen_tuning(own, local_model(own))
    assert chosen.tuning == EngineTuning(max_num_seqs=20, enable_prefix_caching=False)
    assert chosen.source == f"{TABLE} + settings file"
    without = settings(tmp_path, tuned=False)
    assert chosen_tuning(without, local_model(without)).tuning == untuned("cpu")


def test_what_was_measured_for_other_weights_or_another_device_is_not_loaded(tmp_path: Path) -> None:
    made = settings(tmp_path)
    put_winner(made)
    assert chosen_tuning(made, local_model(made)).source == TABLE
    other = settings(tmp_path, threads_per_engine=made.inference.threads_per_engine + 1)
    assert chosen_tuning(other, local_model(other)).source == "untuned"
    (Path(made.inference.model) / "model.safetensors").write_bytes(b"other weights")
    assert chosen_tuning(made, local_model(made)).source == "untuned"


def test_a_measured_trial_is_not_run_again(made: Settings) -> None:
    first = tune(made, {"max_num_seqs": 20})
    assert first["metrics"]["trials_reused"] == 0
    assert tune(made, {"max_num_seqs": 20})["reused"] is True
    more = tune(made, {"max_num_seqs": 20}, {"max_num_seqs": 12})
    assert more["counts"]["rows_in"] == 3 + 6
    assert more["metrics"]["trials_reused"] == first["counts"]["rows_in"] == 6
    lake = Lake(made.lake)
    lake.store.delete([item.key for item in lake.store.list("staging/tuning/")])
    assert tune(made, {"max_num_seqs": 20}, run_seconds=50)["metrics"]["trials_reused"] == 6, "the table knows them too"


def test_a_gain_that_is_not_proven_changes_nothing(made: Settings) -> None:
    result = tune(made, {"max_num_seqs": 1})
    assert result["metrics"]["engine_settings"].startswith("not changed")
    assert chosen_tuning(made, local_model(made)).tuning == untuned("cpu")


def test_a_quantised_model_is_another_model(tmp_path: Path) -> None:
    plain, quantised = settings(tmp_path), settings(tmp_path, tuning={"quantization": "fp8"})
    assert generator(quantised).revision == f"{generator(plain).revision}+fp8"


def test_it_is_refused_without_prompts_or_for_another_engine(tmp_path: Path) -> None:
    made = settings(tmp_path)
    with pytest.raises(PartitionMissingError, match="synthesized/said_anew/requests has none for plain yet: run"):
        tune(made)
    scripted = settings(tmp_path, engine="scripted", script="a:b")
    with pytest.raises(ValueError, match="nothing to tune on the engine 'scripted'"):
        tune(scripted)
    gpu = settings(tmp_path, device="cuda")
    with pytest.raises(ValueError, match="which is toy_1b_chat/cuda: set"):
        tune(gpu)


def test_a_candidate_that_cannot_be_tried_is_refused_before_anything_runs(made: Settings) -> None:
    with pytest.raises(
        ValueError, match="the candidate max_num_batched_tokens=64, enable_chunked_prefill=false cannot"
    ):
        tune(made, {"enable_chunked_prefill": False, "max_num_batched_tokens": 64})
    assert Lake(made.lake).partition(TABLE, "all") is None


def test_a_models_folder_becomes_a_name(tmp_path: Path) -> None:
    made = settings(tmp_path)
    assert tuning_dataset(made) == "toy_1b_chat"
    assert open_model(Path(made.inference.model), license="MIT", cache_dir=tmp_path).name == "Toy-1B.chat"
