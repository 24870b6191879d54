"""From C source to a checked, timed, callable kernel on this machine."""
