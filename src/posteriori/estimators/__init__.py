"""What all estimators share: the contract, checks of rows and parameters, linear predictors."""

from posteriori.numerics.lazy import load_on_use

__all__, __getattr__, __dir__ = load_on_use(__name__, __file__)
