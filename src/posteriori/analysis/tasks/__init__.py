"""Tasks: questions to a table whose answers are printed, shown, written and saved in one way."""
