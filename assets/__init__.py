"""What exists: one folder a stage, one module a dataset. An asset's key is stage/dataset/table."""
