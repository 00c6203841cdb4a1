"""NVIDIA's Data Designer over an endpoint; started with the python of its own environment.

    python faults_data_designer.py run prompts.jsonl HOME OPTIONS     ask, with resume; the same command resumes
    python faults_data_designer.py rows HOME                          the rows that are there, as JSON [id, has an answer]

Row groups of 100 records; its early shutdown is as it comes. Rows whose generation fails are dropped, which is its way.
"""

import json
import sys
from pathlib import Path
from typing import Any

RECORDS_PER_GROUP = 100


def run(prompts: str, home: str, options: dict[str, Any]) -> None:
    """Ask all prompts, which are the seed data set, in order."""
    import data_designer.config as dd
    from data_designer.config.run_config import ResumeMode
    from data_designer.interface import DataDesigner

    provider = dd.ModelProvider(name="toy", endpoint=f"{options['url']}/v1", provider_type="openai", api_key="none")
    designer = DataDesigner(artifact_path=f"{home}/artifacts", model_providers=[provider])
    designer.set_run_config(dd.RunConfig(buffer_size=RECORDS_PER_GROUP, otel_metrics_port=None))
    parameters = dd.ChatCompletionInferenceParams(
        max_tokens=200, max_parallel_requests=options["concurrency"], timeout=int(options["seconds"])
    )
    model = dd.ModelConfig(alias="toy", model="toy", provider="toy", inference_parameters=parameters)
    builder = dd.DataDesignerConfigBuilder(model_configs=[model])
    builder.with_seed_dataset(dd.LocalFileSeedSource(path=prompts))
    builder.add_column(dd.LLMTextColumnConfig(name="answer", model_alias="toy", prompt="{{ prompt }}"))
    number = len(Path(prompts).read_text(encoding="utf-8").splitlines())
    designer.create(builder, num_records=number, dataset_name="faults", resume=ResumeMode.IF_POSSIBLE)


def rows(home: str) -> list[tuple[str, bool]]:
    """Return the rows of the data set's files."""
    import pyarrow.parquet as pq

    found = []
    for file in sorted(Path(home, "artifacts", "faults").glob("parquet-files/*.parquet")):
        table = pq.read_table(file, columns=["id", "answer"])
        found += [(row["id"], bool(row["answer"])) for row in table.to_pylist()]
    return found


if __name__ == "__main__":
    command, *rest = sys.argv[1:]
    if command == "run":
        run(rest[0], rest[1], json.loads(rest[2]))
    else:
        print(json.dumps(rows(rest[0])))
