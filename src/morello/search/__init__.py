"""Search: expanding the space of programs, and finding the cheapest of them."""
