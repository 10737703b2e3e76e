"""Principal components of features that are known by their kernel alone."""
