"""What is said of a class that is to be found, in words: how many are, for how many false alarms, at what cost."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from posteriori.analysis.ranking.ranked_outcomes import AVERAGE
from posteriori.analysis.table.wording import counted, fixed_number, number_with_error, short_number
from posteriori.analysis.targets.class_costs import class_name, costs_in_words, threshold_of
from posteriori.analysis.targets.decided_classes import Decided
from posteriori.distributions.numbers.beta import Beta

if TYPE_CHECKING:
    from posteriori.analysis.comparisons.conclusions import Analysis

__all__ = ["costs_to_tell", "reasons_on_class", "said_of_class"]

#: With fewer rows of the class everybody is told how roughly they tell the share that is found.
_FEW = 50

#: A difference of average precisions that is worth a word.
_WORTH = 0.01


def said_of_class(name: str, classes: Any, decided: Decided, depends: str = "") -> str:
    """Say how many rows of the class are found, for how many false alarms, and at what cost if that was told.

    Parameters
    ----------
    name : str
        Of the target.
    classes : (K,)
    decided : Decided
    depends : str
        On which columns it depends most, a clause behind a semicolon; or nothing.
    """
    label, rows = class_name(classes[decided.positive]), len(decided.codes)
    share = f"{100.0 * decided.rows / rows:.2g}%"
    text = f"“{name}” is {label} in {decided.rows:,} of {counted(rows, 'row')} ({share})"
    if decided.rule is None:
        return f"{text}, and the columns do not tell which: no threshold finds these better than chance."
    costs = _costs_a_row(decided, classes) if decided.told else ""
    return f"{text}: {_found(decided, classes)}{costs}{depends}."


def _found(decided: Decided, classes: Any) -> str:
    label = class_name(classes[decided.positive])
    if not decided.found + decided.alarms:
        return f"no row is probable enough to be called {label}"
    alarms = counted(decided.alarms, "false alarm")
    many = (
        "none is"
        if not decided.found
        else f"{decided.found:,} {'is' if decided.found == 1 else 'are'}"
    )
    return f"{many} found{_roughly(decided)}, for {alarms}, {_when(decided, classes)}"


def _when(decided: Decided, classes: Any) -> str:
    """Say by which rule the class is said."""
    assert decided.rule is not None
    label = class_name(classes[decided.positive])
    if len(classes) == 2:
        threshold = short_number(threshold_of(decided.rule, decided.positive), 2)
        return f"if {label} is said from a probability of {threshold} on"
    if decided.told:
        return "if what costs least is said"
    weight = short_number(1.0 / float(decided.rule[decided.positive].max()), 2)
    return f"if {label} is said where it is at least {weight} times as probable as any other"


def _costs_a_row(decided: Decided, classes: Any) -> str:
    """Say what a row costs, beside saying the same of all."""
    cost, alike = float(decided.spent.mean()), decided.spent_alike.mean(axis=0)
    least = int(np.argmin(alike))
    best = f"always saying {class_name(classes[least])} costs {_amount(alike[least])}"
    if cost < alike[least]:
        return f", which costs {_amount(cost)} a row, where {best}"
    return f", which costs {_amount(cost)} a row, and {best}, so that predictions save nothing"


def _amount(cost: float) -> str:
    return short_number(float(cost), 3)


def _roughly(decided: Decided) -> str:
    """Say how roughly few rows tell the share that is found."""
    if decided.rows >= _FEW or not decided.found + decided.alarms:
        return ""
    return f" (of new ones {_between(decided.recall_belief)}, as far as so few rows tell)"


def _between(belief: Beta) -> str:
    low, high = (100.0 * float(x) for x in belief.interval(0.9))
    return f"{low:.0f}% to {high:.0f}%"


def costs_to_tell(decided: Decided, classes: Any) -> str:
    """Ask what mistakes cost, where that was not told and would change what is said."""
    if decided.told or decided.rule is None:
        return ""
    other = next(str(label) for k, label in enumerate(classes) if k != decided.positive)
    pair = f"{classes[decided.positive]}:{other}"
    return f'if a miss costs more than a false alarm, say how much: --cost "{pair}=10" (costs=)'


def reasons_on_class(found: Analysis) -> list[str]:
    """Say what the answer rests on: areas, intervals, how the threshold was chosen, what costs differ by."""
    decided, classes = found.decided[found.kept], found.problem.classes
    errors, label = found.metrics[found.kept], class_name(classes[decided.positive])
    area, precision = (fixed_number(errors[n], 3) for n in ("AUC", "average precision"))
    flat = fixed_number(decided.rows / len(decided.codes), 3)
    said = [
        f"{label} against all other classes, on unseen rows: area under the ROC curve {area} (chance 0.5), "
        f"average precision {precision} (chance {flat})."
    ]
    if decided.rule is None:
        return said
    choice = "" if decided.told else "; that the threshold was chosen, too, is not in them"
    said.append(
        f"With a probability of 90%, {_between(decided.recall_belief)} of new rows of {label} are found, and "
        f"{_between(decided.precision_belief)} of alarms are true (Beta beliefs from "
        f"{counted(decided.rows, 'row')} and {counted(decided.found + decided.alarms, 'alarm')}{choice})."
    )
    said.append(_on_costs(decided, classes) if decided.told else _on_choice(decided))
    return said + _on_other_models(found)


def _on_costs(decided: Decided, classes: Any) -> str:
    assert decided.rule is not None
    alike = decided.spent_alike
    best = int(np.argmin(alike.mean(axis=0)))
    saved = alike[:, best] - decided.spent
    error = saved.std(ddof=1) / np.sqrt(len(saved))
    scale = len(saved) if abs(saved.mean()) < 1.0 else 1
    told = number_with_error(scale * saved.mean(), scale * error)
    return (
        f"Costs: {costs_in_words(decided.rule, classes)}. Beside always saying {class_name(classes[best])}, "
        f"{'all rows together save' if scale > 1 else 'a row saves'} {told}. What is said costs least by the "
        "stated probabilities; no threshold was fitted to the rows."
    )


def _on_choice(decided: Decided) -> str:
    assert decided.rule is not None
    weight = short_number(float(decided.rule[decided.positive].max()), 2)
    return (
        "The threshold has the largest F₁, the harmonic mean of the share found and the share of true alarms: a "
        f"miss weighs as {weight} false alarms. Each fold was judged by the threshold of the others."
    )


def _on_other_models(found: Analysis) -> list[str]:
    """Name the model that orders rows best, or costs least, where another is kept."""
    measure = found.leading[0] if found.target.stakes.costs is not None else "average precision"
    sign = -1.0 if measure == "cost" else 1.0
    values = {n: found.metrics[n][measure] for n in found.metrics if n != AVERAGE}
    best = max(values, key=lambda n: sign * values[n])
    kept = found.metrics[found.kept][measure]
    gain = sign * (values[best] - kept)
    if best == found.kept or gain <= _WORTH * (abs(kept) if measure == "cost" else 1.0):
        return []
    return [
        f"By {measure} “{found.words(best)}” is ahead ({short_number(values[best], 3)} against "
        f"{short_number(kept, 3)}); models are ranked by all that their probabilities say."
    ]
