"""Which together: jobs and schedules, the demo, and the operator's command line."""
