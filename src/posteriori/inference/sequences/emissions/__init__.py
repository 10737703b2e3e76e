"""What the states of a hidden chain emit: how it is learned, family by family."""
