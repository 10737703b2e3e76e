"""Charts of numbers as light SVG: marks between two axes, whose colours follow the page."""
