"""Messages between factors and variables."""
