"""Groups of the rows of a table: partitions drawn from their posterior, components without a dip joined."""
