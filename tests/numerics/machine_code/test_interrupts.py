"""Ctrl-C waits until machine code is whole, and is heard then."""

import signal
import threading

import pytest

from posteriori.numerics.machine_code.interrupts import interrupts_later


@pytest.fixture
def usual(monkeypatch):
    """The handler of Python, whatever this process was started with."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def test_an_interrupt_comes_after_the_work(usual):
    done = []

    def work():
        with interrupts_later():
            signal.raise_signal(signal.SIGINT)
            done.append(True)

    with pytest.raises(KeyboardInterrupt):
        work()
    assert done
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_other_threads_hear_no_signals(usual):
    heard = []

    def work():
        with interrupts_later():
            heard.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert heard == [signal.default_int_handler]
