"""Lines of candidates, a file for each task."""
