"""From a design to a proposal in a lake: proxies' CSV files in, weights, gains and losses out, gates and caps."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from corpusmill.document import SEQUENCES
from corpusmill.lake.errors import GateFailedError
from corpusmill.lake.files import ShardWriter
from corpusmill.lake.tables import Lake
from corpusmill.mix.optimise import Wish
from corpusmill.mix.proxies import ProxyColumns
from corpusmill.mix.proxy_design import ProxyDesign
from corpusmill.settings import Settings, settings_from_table
from corpusmill.tasks.task import execute

PRIOR = {"web": 0.6, "code": 0.3, "stem": 0.1}
COLUMNS = ProxyColumns(run="run", score_suffix="_loss")


def make(settings: Settings, task: str, parameters: dict[str, Any]) -> dict[str, Any]:
    given = {"settings": settings.to_json(), "dataset": "runs", "partition": "all", "parameters": parameters}
    return execute(task, given, lambda message, numbers: None)


def proposal(settings: Settings, *, wish: dict[str, Any] | None = None, **more: Any) -> dict[str, Any]:
    chosen = Wish(prior=PRIOR, surrogates=("linear", "log_linear"), **(wish or {}))
    files = {"weights_file": "weights.csv", "scores_file": "scores.csv"}
    return make(settings, "proposal", {"wish": chosen.to_json(), "columns": COLUMNS.to_json(), **files, **more})


@pytest.fixture(scope="module")
def settings(tmp_path_factory: pytest.TempPathFactory) -> Settings:
    """A lake with a design, and the scores that its mixtures would give: maths falls with stem, chat rises."""
    base = tmp_path_factory.mktemp("mill")
    made = settings_from_table({"sources": {"runs": {"uri": "runs", "format": "text"}}}, base=Path(base))
    make(made, "proxy_design", {"design": ProxyDesign(prior=PRIOR, num_mixtures=40, seed=1).to_json()})
    rows = Lake(made.lake).read("trained/runs/design").to_pylist()
    weights = np.array([row["weight"] for row in rows]).reshape(40, 3)
    maths, chat = 1 + np.exp(weights @ [0.2, -1, -5]), 2 + weights @ [0.1, 0.1, 0.6]
    (base / "runs").mkdir()
    lines = [f"{number},{','.join(f'{weight:.6f}' for weight in row)}" for number, row in enumerate(weights)]
    (base / "runs" / "weights.csv").write_text("\n".join(["run,web,code,stem", *lines]), encoding="utf-8")
    lines = [f"{number},{maths[number]:.6f},{chat[number]:.6f}" for number in reversed(range(40))]
    (base / "runs" / "scores.csv").write_text("\n".join(["run,maths_loss,chat_loss", *lines]), encoding="utf-8")
    return made


def test_a_proposal_shows_gains_and_losses_largest_loss_first(settings: Settings) -> None:
    result = proposal(settings, wish={"importance": {"chat": 0.2}})
    rows = Lake(settings.lake).read("trained/runs/proposal").to_pylist()
    assert [row["component"] for row in rows] == ["web", "code", "stem"]
    assert sum(row["weight"] for row in rows) == pytest.approx(1)
    assert [row["prior"] for row in rows] == pytest.approx([0.6, 0.3, 0.1])
    assert all(row["lower"] - 1e-9 <= row["weight"] <= row["upper"] + 1e-9 and row["epochs"] is None for row in rows)
    changes = result["tables"]["gains_and_losses"]
    assert [(row["capability"], row["verdict"]) for row in changes] == [("chat", "loss"), ("maths", "gain")]
    assert (result["metrics"]["gains"], result["metrics"]["losses"], result["metrics"]["proxies"]) == (1, 1, 40)
    assert len(result["listings"]["left_out"]) == 4
    assert all(gate["passed"] for gate in result["gates"].values())
    assert proposal(settings, wish={"importance": {"chat": 0.2}})["reused"] is True


def pack(lake: Lake, tokens: dict[str, int]) -> dict[str, str]:
    """Commit tables of sequences that say to hold so many tokens, and return them by component."""
    for name, num_tokens in tokens.items():
        attempt = lake.begin(f"tokenized/{name}/sequences", "s1", SEQUENCES)
        with ShardWriter(
            lake.store, directory=attempt.directory, name=attempt.attempt, schema=SEQUENCES, partition="s1"
        ) as writer:
            pass
        lake.commit(attempt, writer.files, {"tokenizer": "t", "sequence_length": 8, "num_tokens": num_tokens})
    return {name: f"tokenized/{name}/sequences" for name in tokens}


def test_what_a_component_holds_caps_its_weight(settings: Settings) -> None:
    lake = Lake(settings.lake)
    tables = pack(lake, {"web": 900, "code": 900, "stem": 60})
    asked = {"wish": {"max_epochs": {"stem": 2}, "importance": {"chat": 0}}, "tables": tables}
    proposal(settings, **asked, budget_tokens=1000)
    stem = lake.read("trained/runs/proposal").to_pylist()[2]
    assert (stem["weight"], stem["upper"], stem["epochs"]) == pytest.approx((0.12, 0.12, 2.0))


def test_scores_that_weights_do_not_explain_are_kept_from_readers(settings: Settings) -> None:
    """A gate says so; the page shows all the same what was found."""
    folder = Path(settings.source("runs").uri)
    noise = np.random.default_rng(3).normal(size=40)
    lines = [f"{number},{score:.6f}" for number, score in enumerate(noise)]
    (folder / "noise.csv").write_text("\n".join(["run,maths_loss", *lines]), encoding="utf-8")
    result = proposal(settings, scores_file="noise.csv")
    assert result["gates"]["ranking"]["passed"] is False
    with pytest.raises(GateFailedError, match=r"at least 0\.5 is wanted; train more proxies, or longer ones"):
        Lake(settings.lake).read("trained/runs/proposal")


def test_files_that_are_not_there_or_no_csv_are_named(settings: Settings) -> None:
    with pytest.raises(ValueError, match=r"there is no results.csv below .*runs, got .*scores.csv"):
        proposal(settings, scores_file="results.csv")
    (Path(settings.source("runs").uri) / "torn.csv").write_text("run,maths_loss\n1,2,3\n", encoding="utf-8")
    with pytest.raises(ValueError, match=r"torn.csv is no CSV file: "):
        proposal(settings, scores_file="torn.csv")


def test_a_component_without_tokens_is_named(settings: Settings) -> None:
    tables = pack(Lake(settings.lake), {"web": 900, "code": 900, "stem": 0})
    with pytest.raises(
        ValueError, match=r"components without any token: stem \(tokenized/stem/sequences\); leave them out"
    ):
        proposal(settings, tables=tables, budget_tokens=1000)
