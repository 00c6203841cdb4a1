"""The lake: object store, Iceberg tables, fenced commits, and readers that plan from manifests."""
