"""Structural series by their textbook recursions, as linear maps of independent shocks."""

import numpy as np
from scipy.stats import multivariate_normal


class TextbookSeries:
    """Trend with slope and one season in dummy form, T steps, given standard deviations.

    ``parts(shocks)`` walks the recursions; the joint covariance is that of unit shocks.
    """

    def __init__(self, steps, period, scales, start):
        self.steps, self.period, self.scales, self.start = steps, period, scales, start
        size = 2 + period + 4 * steps
        columns = [np.array(self.parts(unit)) for unit in np.eye(size)]
        self.maps = np.moveaxis(np.array(columns), 0, -1)  # (level, season, y; T; shocks)

    def parts(self, shocks):
        """Return level, season and value of each step; shocks are standard normal."""
        first, rest = shocks[: 2 + self.period], shocks[2 + self.period :].reshape(4, self.steps)
        noise, level_shock, slope_shock, season_shock = rest
        level, slope = self.start["level"] * first[0], self.start["slope"] * first[1]
        effects = self.start["swing"] * (first[2:] - first[2:].mean())
        past = list(effects[: self.period - 1])  # the latest first
        levels, seasons, values = [], [], []
        for t in range(self.steps):
            season = past[0]
            levels.append(level)
            seasons.append(season)
            values.append(level + season + self.scales["noise"] * noise[t])
            level, slope = (
                level + slope + self.scales["level"] * level_shock[t],
                slope + self.scales["slope"] * slope_shock[t],
            )
            past = [-sum(past) + self.scales["season"] * season_shock[t], *past[:-1]]
        return levels, seasons, values

    def log_prob(self, y):
        seen = ~np.isnan(y)
        jacobian = self.maps[2][seen]
        return multivariate_normal(np.zeros(seen.sum()), jacobian @ jacobian.T).logpdf(y[seen])

    def given(self, y, rows):
        """Return mean and covariance of linear maps of the shocks (M, ·), given values."""
        seen = ~np.isnan(y)
        jacobian = self.maps[2][: len(y)][seen]
        gain = np.linalg.solve(jacobian @ jacobian.T, jacobian @ rows.T).T
        return gain @ y[seen], rows @ rows.T - gain @ jacobian @ rows.T
