"""Reading tables, and what their columns hold."""
