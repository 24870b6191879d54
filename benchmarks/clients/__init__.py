"""Real models through the doors, against the frameworks that they are written in."""
