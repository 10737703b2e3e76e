"""Every plot is drawn without a screen, and no test leaves a figure behind for the next."""

import matplotlib
import pytest

matplotlib.use("Agg")


@pytest.fixture(autouse=True)
def closed_figures():
    from matplotlib import pyplot

    pyplot.close("all")
    yield
    pyplot.close("all")


@pytest.fixture
def ax():
    """Return axes of a figure that pyplot does not know."""
    from matplotlib.figure import Figure

    return Figure().add_subplot()
