"""For tests that send signals: who runs them may ignore some, as nohup and a shell's background do, and programs leave them so."""
import signal


def restore_signals():
    """What this process starts has the usual handling of all signals."""
    for number in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM, signal.SIGUSR1, signal.SIGALRM):
        if signal.getsignal(number) == signal.SIG_IGN:
            signal.signal(number, signal.SIG_DFL)
