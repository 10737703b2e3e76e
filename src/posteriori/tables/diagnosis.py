"""The oldest example of Bayes' rule: what a test says about a disease."""

from __future__ import annotations

from posteriori.numerics.validation import probability as check_probability
from posteriori.tables.joint_table import ConditionalTable, JointTable

__all__ = ["diagnostic_test"]


def diagnostic_test(prevalence: float, sensitivity: float, specificity: float) -> JointTable:
    """Return the joint table of a disease D and of a test T for it, both 0 or 1.

    Parameters
    ----------
    prevalence : float
        p(D=1), the share of the ill.
    sensitivity : float
        p(T=1 | D=1), how many of the ill test positive.
    specificity : float
        p(T=0 | D=0), how many of the healthy test negative.

    Examples
    --------
    >>> round(diagnostic_test(0.01, 0.95, 0.85).query("D=1 | T=1"), 10)
    0.0601265823
    """
    ill = check_probability("prevalence", prevalence)
    hit = check_probability("sensitivity", sensitivity)
    clear = check_probability("specificity", specificity)
    return JointTable.from_conditionals(
        ConditionalTable("D", (), [1.0 - ill, ill]),
        ConditionalTable("T", "D", [[clear, 1.0 - clear], [1.0 - hit, hit]]),
    )
