"""What the parts of the engine answer to one another."""
