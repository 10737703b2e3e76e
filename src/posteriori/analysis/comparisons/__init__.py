"""The comparison of models for one column of a table: what is predicted, by what, and what follows."""
