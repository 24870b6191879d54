"""Measuring this machine: programs whose predicted costs are fitted to how long they take."""
