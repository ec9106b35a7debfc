"""Running experiments: protocol, plan, jobs, workers, store."""
