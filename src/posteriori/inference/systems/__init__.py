"""Systems of continuous states: learning of linear ones, filters of nonlinear ones."""
