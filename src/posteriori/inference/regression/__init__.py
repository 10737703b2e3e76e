"""Statistics and weights of linear regression."""
