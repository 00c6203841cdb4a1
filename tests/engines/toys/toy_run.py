"""A process of its own that runs the toy shards and prints the label of each finished one; the test kills it."""

import json
import sys

import toy_shards

from corpusmill.engines.plain import PlainEngine
from corpusmill.engines.shards import ShardPlan, run_shards
from corpusmill.lake.store import LakeSettings
from corpusmill.lake.tables import Lake

if __name__ == "__main__":
    settings, inputs, parameters = map(json.loads, sys.argv[1:])
    lake = Lake(LakeSettings.from_json(settings))
    plan = ShardPlan(
        function="toy_shards:measure_or_die", inputs=inputs, parameters=parameters, schema=toy_shards.SCHEMA
    )
    run_shards(plan, engine=PlainEngine(), lake=lake, attempt=lake.begin("curated/toy/words", "a", plan.schema))
