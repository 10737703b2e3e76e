"""Machine code before it is asked for: what to run so that loops are compiled, and where."""
