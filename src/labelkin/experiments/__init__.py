"""The paper's experiments: methods, protocol, store, statistics, tables and figures."""
