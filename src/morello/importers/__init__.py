"""From programs as they are written elsewhere to graphs: one module for each source."""
