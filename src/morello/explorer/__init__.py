"""The explorer: a program, what was chosen at each step, and what was not, as one HTML file."""
