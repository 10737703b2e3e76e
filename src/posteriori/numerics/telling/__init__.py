"""What users are told: how far long work is, and which parameter a strange word means."""
