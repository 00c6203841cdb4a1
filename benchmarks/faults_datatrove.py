"""datatrove's InferenceRunner over an endpoint; started with the python of datatrove's own environment.

    python faults_datatrove.py run prompts.jsonl HOME OPTIONS     ask, with checkpoints; the same command resumes
    python faults_datatrove.py rows HOME                          the rows that are there, as JSON [id, has an answer]

What it does not try again becomes a row that says so: an error that leaves its `ask` ends the whole run, and a document
without any result is left out. Checkpoints of 100 documents.
"""

import gzip
import json
import sys
from pathlib import Path
from typing import Any

RECORDS_PER_CHUNK = 100


def run(prompts: str, home: str, options: dict[str, Any]) -> None:
    """Ask all prompts; one task, so that all its state is in one place."""
    from datatrove.executor.local import LocalPipelineExecutor
    from datatrove.pipeline.inference.run_inference import InferenceConfig, InferenceError, InferenceRunner
    from datatrove.pipeline.readers import JsonlReader
    from datatrove.pipeline.writers import JsonlWriter

    async def ask(document: Any, generate: Any) -> Any:
        question = {"messages": [{"role": "user", "content": document.text}], "max_tokens": 200}
        try:
            return (await generate(question)).text
        except InferenceError as error:
            return {"failed": str(error)}

    config = InferenceConfig(
        server_type="endpoint",
        endpoint_url=f"{options['url']}/v1",
        api_key="none",
        model_name_or_path="toy",
        max_concurrent_generations=options["concurrency"],
        request_timeout=options["seconds"],
        server_ready_delay_sec=0.2,
    )
    runner = InferenceRunner(
        rollout_fn=ask,
        config=config,
        output_writer=JsonlWriter(f"{home}/output", output_filename="${rank}_${chunk_index}.jsonl.gz"),
        checkpoints_local_dir=f"{home}/checkpoints",
        records_per_chunk=RECORDS_PER_CHUNK,
    )
    source = Path(prompts)
    reader = JsonlReader(str(source.parent), glob_pattern=source.name, text_key="prompt", id_key="id")
    LocalPipelineExecutor([reader, runner], tasks=1, workers=1, logging_dir=f"{home}/logs").run()


def rows(home: str) -> list[tuple[str, bool]]:
    """Return the rows of the output; what was not closed when the run was killed cannot be read, and does not count."""
    found = []
    for file in sorted(Path(home, "output").glob("*.jsonl.gz")):
        try:
            with gzip.open(file, "rt", encoding="utf-8") as lines:
                read = [json.loads(line) for line in lines]
        except EOFError:
            continue
        found += [(row["id"], isinstance(row["metadata"]["rollout_results"][0], str)) for row in read]
    return found


if __name__ == "__main__":
    command, *rest = sys.argv[1:]
    if command == "run":
        run(rest[0], rest[1], json.loads(rest[2]))
    else:
        print(json.dumps(rows(rest[0])))
