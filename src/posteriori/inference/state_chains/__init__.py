"""Chains of discrete states: forward–backward, Viterbi, draws, run lengths."""
