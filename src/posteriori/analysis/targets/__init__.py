"""The task compare with a target: which model predicts a column, how surely, and what it predicts."""
