"""Impls, which are trees of rewrites: built, printed, and saved as JSON."""
