"""Commands that start a process which leaves their group, and its pid."""

from __future__ import annotations

import sys
from pathlib import Path

__all__ = ["DAEMONS", "FORK_TWICE", "STUBBORN", "pid_in"]

_WRITES = "sh -c 'echo $$ > pid.new; mv pid.new pid; exec sleep 300'"
FORK_TWICE = (
    "import os; os.fork() and os._exit(0); os.setsid(); os.fork() and os._exit(0); os.closerange(0, 99); "
    "open('pid.new', 'w').write(str(os.getpid())); os.rename('pid.new', 'pid'); "
    "os.execvp('sleep', ['sleep', '300'])"
)
_STARTED = "until [ -e pid ]; do sleep 0.01; done"

DAEMONS = {
    "a session of its own": f"setsid {_WRITES} & {_STARTED}",
    "without the hang-up signal": f"nohup setsid {_WRITES} >/dev/null 2>&1 & {_STARTED}",
    "forked twice": f'{sys.executable} -c "{FORK_TWICE}"; {_STARTED}',
    "from a shell below": f'(bash -c \'(setsid "$0" "$@" &) & exit\' {_WRITES}); {_STARTED}',
}
"""By how they leave; each has ended its start when its pid is in the file `pid`."""

_DEAF = "trap : TERM HUP; echo $$ > pid.new; mv pid.new pid; while :; do sleep 1; done"
STUBBORN = f"setsid sh -c '{_DEAF}' & {_STARTED}"


def pid_in(folder: Path) -> int:
    pid = int((folder / "pid").read_text(encoding="utf-8"))
    (folder / "pid").unlink()
    return pid
