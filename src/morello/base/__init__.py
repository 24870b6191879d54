"""Needed by every other folder: errors, files, memory, progress, debugging, worker processes."""
