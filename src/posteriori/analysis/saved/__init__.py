"""Models of tables as they are saved: what they answer, and files that hold them."""
