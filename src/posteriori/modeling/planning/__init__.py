"""Which variables are solved together, and how."""
