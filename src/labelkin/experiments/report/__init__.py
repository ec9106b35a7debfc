"""Report experiments: statistics, tables, figures, the page."""
