"""Search: the space of programs (expand), and the cheapest of them (solve)."""
