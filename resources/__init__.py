"""With what: Dagster's sockets for lake, sources, engines and launchers. Settings only; resources never import assets."""
