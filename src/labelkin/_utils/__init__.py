"""Utilities shared by all packages; nothing here depends on an estimator."""
