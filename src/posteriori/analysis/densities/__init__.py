"""The density of a whole table: which model describes all columns together, odd rows, fill-ins of gaps."""
