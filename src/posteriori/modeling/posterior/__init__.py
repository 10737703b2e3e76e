"""What inference returns, and what it can be asked."""
