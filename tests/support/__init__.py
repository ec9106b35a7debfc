"""Data, files and reference implementations that several tests share."""
