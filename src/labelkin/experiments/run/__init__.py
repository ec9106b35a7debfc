"""Run experiments: protocol, cells, store, pools of workers."""
