"""Data in parts: their sizes, chunks of streams, rows that are made when they are read."""
