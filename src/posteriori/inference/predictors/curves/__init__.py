"""Log densities of targets as curves of a linear predictor, with their derivatives."""
