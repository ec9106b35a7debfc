"""Columns of a user's table: their kinds, their labels, and the pipeline made of them."""
