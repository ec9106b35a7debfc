"""The paper's experiments: running them and reporting the results."""
