"""One variable with conjugate children."""
