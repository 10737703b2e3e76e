"""What all results that rank candidates have in common."""
