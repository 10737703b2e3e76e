"""What factors tell groups of variables."""
