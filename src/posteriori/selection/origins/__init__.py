"""Models of a series compared by what they say of later values, from points in its past."""
