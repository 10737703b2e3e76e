"""Normal chains and what moves with them."""
