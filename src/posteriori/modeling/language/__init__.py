"""The words of the model language."""
