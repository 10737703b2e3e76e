"""Joint families of a location and its spread."""
