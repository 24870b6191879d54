"""The entry point of `python -m morello` and of the script `morello`."""

import sys
import time


def run() -> int:
    """Run the command; returns its exit code. Interrupts are handled from the start."""
    try:
        from morello.cli.clock import CommandClock
        from morello.cli.process import finish, prepare

        clock = CommandClock(time.monotonic())
        prepare()
        from morello.cli.parser import main

        code = main(clock=clock)
        finish()
        return code
    except KeyboardInterrupt:  # during the imports
        import signal

        signal.signal(signal.SIGINT, signal.SIG_IGN)  # another interrupt would change nothing
        exec("")  # after an interrupt of an `exec`, Python would end by a signal, caught or not
        print("morello: interrupted.", file=sys.stderr)
        return 130


if __name__ == "__main__":
    sys.exit(run())
