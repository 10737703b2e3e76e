"""Machine code of compiled loops: where it is kept, and under which name."""
