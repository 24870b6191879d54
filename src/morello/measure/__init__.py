"""Programs on this machine: loaded, timed, chosen by their times, and costs fitted to those."""
