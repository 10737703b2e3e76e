"""A prior variance for every column: which of them the evidence keeps."""
