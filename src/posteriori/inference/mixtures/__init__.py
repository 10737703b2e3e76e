"""Mixtures learned from sums of their rows' statistics: by EM and by variational Bayes."""
