"""Chains: Kalman smoothing and hidden Markov models."""
