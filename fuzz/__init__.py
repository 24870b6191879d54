"""Adversaries: each tries to break one promise of Morello's, and shrinks what does."""
