"""What counts groups and states have in common: how probable each number is, and what each is like."""
