"""Groups of rows in a table: how many, what sets them apart, and how sure that is."""
