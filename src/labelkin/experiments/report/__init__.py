"""Reporting results: comparison, statistics, tables, figures, one page."""
