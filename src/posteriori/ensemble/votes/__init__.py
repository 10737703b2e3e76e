"""Weighted majorities: AdaBoost, linear programs of margins, and what is known about them."""
