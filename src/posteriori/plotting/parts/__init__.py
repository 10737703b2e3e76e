"""What pictures are made of: style, frame, names, members."""
