"""Mixtures whose columns are independent given the component, by kinds of columns or by one family."""
