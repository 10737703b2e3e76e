"""Checks of the labelled rows that classifiers are given."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from sklearn.utils import assert_all_finite
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import (
    check_consistent_length,
    column_or_1d,
)

from posteriori.estimators.estimator_rows import (
    check_finite_columns,
    check_gappy_inputs,
    check_inputs,
    has_groups,
)
from posteriori.estimators.group_columns import learn_levels, split_columns
from posteriori.estimators.weighted_fits import check_frequency
from posteriori.numerics.evidence import Fingerprint
from posteriori.numerics.types import Array
from posteriori.numerics.validation import naming_overflow, unmasked

__all__ = [
    "LabelledRows",
    "check_known_labels",
    "check_labelled_rows",
    "require_two_classes",
]


class LabelledRows(NamedTuple):
    """Checked rows with their classes.

    Attributes
    ----------
    x : (N, D)
    codes : (N,) of int < K
        Place of each row's class among the classes.
    classes : (K,)
        Sorted labels; K >= 2.
    frequency : (N,) or None
        How often each row counts; None is once. No row counts 0 times.
    levels : (N, C) or None
        Levels of rows in the columns that hold groups, which x does not have; None without groups.
    """

    x: Array
    codes: Any
    classes: Any
    frequency: Array | None
    levels: Any = None

    @property
    def counts(self) -> Array:
        """How many rows each class has, (K,)."""
        return np.bincount(self.codes, weights=self.frequency, minlength=len(self.classes)).astype(
            np.float64
        )

    @property
    def fingerprint(self) -> Fingerprint:
        """Of the targets: numbers as they are, other labels by their places."""
        numeric = self.classes.dtype.kind in "biuf"
        numbers = self.classes[self.codes] if numeric else self.codes
        return Fingerprint().update(numbers.astype(np.float64), self.frequency)


def check_labelled_rows(
    estimator: Any,
    X: Any,
    y: Any,
    sample_weight: Any = None,
    *,
    class_weight: Any = None,
    gaps: bool = False,
) -> LabelledRows:
    """Check what ``fit`` of a classifier is given; rows of weight 0 are left out.

    Parameters
    ----------
    estimator : estimator
        Whose ``n_features_in_`` and ``feature_names_in_`` are set.
    X : (N, D)
    y : (N,)
        Labels of at least two classes.
    sample_weight : (N,), optional
        Frequencies >= 0: equal to repeated rows.
    class_weight : mapping from labels to numbers > 0, "balanced" or None
        What the frequencies of each class's rows are multiplied by.
    gaps : bool
        Whether NaN in X is a missing entry; an error if not.
    """
    name = type(estimator).__name__
    if y is None:
        raise ValueError(f"{name} requires y to be passed, but the target y is None")
    labels = None
    if has_groups(estimator):
        x, labels, names = split_columns(estimator, X, reset=True)
        check_finite_columns(x, None)
    else:
        x = (check_gappy_inputs if gaps else check_inputs)(estimator, X, reset=True)
    y = column_or_1d(unmasked("y", y), warn=True)
    _require_finite_labels(y)
    check_consistent_length(x, y)
    with np.errstate(invalid="ignore"), naming_overflow("y"):  # it looks whether labels are whole
        check_classification_targets(y)
    frequency = None
    if sample_weight is not None:
        frequency = check_frequency(sample_weight, x)
        kept = frequency > 0
        if not kept.any():
            raise ValueError("sample_weight is 0 everywhere: there is nothing to learn from")
        if not kept.all():
            x, y, frequency = x[kept], y[kept], frequency[kept]
            labels = None if labels is None else [label[kept] for label in labels]
    classes, codes = np.unique(y, return_inverse=True)
    if len(classes) < 2:
        raise ValueError(
            f"{name} needs rows of at least two classes, got one class: {classes.tolist()[0]!r}"
        )
    weights = check_class_weight(class_weight, classes, codes, frequency)
    if weights is not None:
        frequency = weights[codes] if frequency is None else weights[codes] * frequency
    rows = LabelledRows(x, codes, classes, frequency)
    if labels is None:
        return rows
    estimator._groups = learn_levels(labels, names, len(classes) - 1)
    return rows._replace(levels=estimator._groups.codes(labels))


def require_two_classes(estimator: Any, rows: LabelledRows) -> None:
    """Refuse rows of more than two classes."""
    if len(rows.classes) > 2:
        raise ValueError(
            "Only binary classification is supported. The type of the target is multiclass: "
            f"{type(estimator).__name__} got {len(rows.classes)} classes; "
            "sklearn.multiclass.OneVsRestClassifier sets one against the rest"
        )


def _require_finite_labels(y: Any) -> None:
    if y.dtype.kind == "f" and not np.isfinite(y).all():
        row = int(np.argmin(np.isfinite(y)))
        what = "NaN" if np.isnan(y[row]) else "infinity (inf)"
        raise ValueError(f"Input y contains {what} in row {row}; leave the row out")
    assert_all_finite(y, input_name="y")  # also of objects


def check_class_weight(
    class_weight: Any, classes: Any, codes: Any, frequency: Array | None
) -> Array | None:
    """Return a factor for the rows of each class (K,), None for 1 everywhere.

    Parameters
    ----------
    class_weight : mapping from labels to numbers > 0, "balanced" or None
        Labels that are left out have 1. "balanced" gives all classes the same total, N in sum.
    classes : (K,)
    codes : (N,)
    frequency : (N,) or None
    """
    if class_weight is None:
        return None
    if isinstance(class_weight, str):
        if class_weight != "balanced":
            raise ValueError(
                f'class_weight must be a mapping from labels, "balanced" or None, got {class_weight!r}'
            )
        counts = np.bincount(codes, frequency, minlength=len(classes))
        return counts.sum() / (len(classes) * counts)
    names = classes.tolist()
    for name, weight in class_weight.items():
        if name not in names:
            raise ValueError(f"class_weight names {name!r}, which is none of the classes {names}")
        if not (np.isfinite(weight) and weight > 0):
            raise ValueError(f"class_weight of {name!r} must be a positive number, got {weight!r}")
    return np.array([float(class_weight.get(name, 1.0)) for name in names])


def check_known_labels(estimator: Any, x: Array, y: Any) -> Any:
    """Return the places of labels among the classes of a fitted estimator, (N,)."""
    y = column_or_1d(unmasked("y", y), warn=True)
    check_consistent_length(x, y)
    classes = estimator.classes_
    unseen = np.setdiff1d(y, classes).tolist()
    if unseen:
        row = int(np.flatnonzero(y == unseen[0])[0])
        raise ValueError(
            f"y holds {unseen[0]!r}, which is none of the classes that {type(estimator).__name__} was "
            f"fitted with: {', '.join(map(repr, classes.tolist()))}; correct or leave out the category "
            f"{unseen[0]} in row {row}"
        )
    return np.searchsorted(classes, y)
