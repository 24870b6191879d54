"""Certificates of searches: that a program is the cheapest, checked without a search."""
