"""Tasks: one module each, JSON arguments in, a JSON result out. What a run worker, a RayJob or a SparkApplication executes."""
