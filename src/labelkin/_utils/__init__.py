"""Utilities that every room shares; nothing here knows an estimator."""
