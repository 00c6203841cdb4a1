"""distilabel's pipeline over an endpoint; started with the python of distilabel's own environment.

    python faults_distilabel.py run prompts.jsonl HOME OPTIONS     ask, with its cache; the same command resumes
    python faults_distilabel.py rows HOME                          the rows that are there, as JSON [id, has an answer]

Batches are as large as the concurrency that all tools get; the rest is as it comes.
"""

import json
import sys
from pathlib import Path
from typing import Any


def run(prompts: str, home: str, options: dict[str, Any]) -> None:
    """Ask all prompts, and write the rows of the data set that the pipeline returns."""
    from distilabel.models import OpenAILLM
    from distilabel.pipeline import Pipeline
    from distilabel.steps import LoadDataFromDicts
    from distilabel.steps.tasks import TextGeneration

    lines = Path(prompts).read_text(encoding="utf-8").splitlines()
    data = [{"id": row["id"], "instruction": row["prompt"]} for row in map(json.loads, lines)]
    with Pipeline(name="faults", cache_dir=f"{home}/cache") as pipeline:
        load = LoadDataFromDicts(data=data, batch_size=options["concurrency"])
        model = OpenAILLM(
            model="toy",
            base_url=f"{options['url']}/v1",
            api_key="none",
            timeout=int(options["seconds"]),
            generation_kwargs={"max_new_tokens": 200},
        )
        load >> TextGeneration(llm=model, input_batch_size=options["concurrency"])
    found = pipeline.run(use_cache=True)["default"]["train"]
    rows = [[row["id"], bool(row["generation"])] for row in found]
    Path(home, "rows.json").write_text(json.dumps(rows), encoding="utf-8")


def rows(home: str) -> list[tuple[str, bool]]:
    """Return the rows of the data set; none where no run came to its end."""
    file = Path(home, "rows.json")
    return [(name, has_answer) for name, has_answer in json.loads(file.read_text())] if file.exists() else []


if __name__ == "__main__":
    command, *rest = sys.argv[1:]
    if command == "run":
        run(rest[0], rest[1], json.loads(rest[2]))
    else:
        print(json.dumps(rows(rest[0])))
