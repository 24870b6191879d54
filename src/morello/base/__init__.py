"""Needed by every other folder: errors, files, compiled functions, debugging, worker processes."""
