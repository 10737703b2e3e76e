"""Chains of normal states: Kalman smoothing."""
