"""The first process of a cluster's namespaces: it only waits for orphans, so that none stays a zombie.

Run by path, with no package around it. It ends by SIGKILL from outside, and everything in its namespaces with it.
"""

import os
import signal


def main() -> None:
    """Reap children for ever."""
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGCHLD})
    while True:
        try:
            while os.waitpid(-1, os.WNOHANG) != (0, 0):
                pass
        except ChildProcessError:
            pass
        signal.sigwait({signal.SIGCHLD})


if __name__ == "__main__":
    main()
