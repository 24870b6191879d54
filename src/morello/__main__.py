"""`python -m morello`, and what the script `morello` runs: the command in its own process."""

import sys


def run() -> int:
    """Run the command; returns its exit code. Interrupts are awaited from the start."""
    try:
        from morello.process import finish, prepare

        prepare()
        from morello.cli import main

        code = main()
        finish()
        return code
    except KeyboardInterrupt:  # while this was loaded
        import signal

        signal.signal(signal.SIGINT, signal.SIG_IGN)  # it may come again, to no more use
        print("morello: interrupted.", file=sys.stderr)
        return 130


if __name__ == "__main__":
    sys.exit(run())
