"""When: new snapshots, failed partitions, the state of a mixture's inputs, engines that nobody holds any more."""
