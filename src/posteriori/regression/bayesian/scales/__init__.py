"""Scales of the prior and of the noise: their evidence, chosen by it or integrated over."""
