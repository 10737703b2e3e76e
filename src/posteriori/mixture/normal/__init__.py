"""Mixtures of normals, by maximum likelihood and by variational Bayes."""
