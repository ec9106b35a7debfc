"""Figures of the user guide, one module each, drawn while the site is built."""
