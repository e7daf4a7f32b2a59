"""`python -m jaxvjp run --processes N script.py`: starts a script several times, with torchrun's variables in each."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Sequence

LOOKS = 0.1
"""Seconds between two looks at the processes."""


def run_together(count: int, command: Sequence[str]) -> int:
    """Runs `command` in that many processes of this machine; returns the exit status of the first that fails, or 0.

    Each finds RANK, LOCAL_RANK, WORLD_SIZE, LOCAL_WORLD_SIZE, MASTER_ADDR and MASTER_PORT in its environment. When one
    fails, the others are ended.
    """
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    group = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
    group |= {"WORLD_SIZE": str(count), "LOCAL_WORLD_SIZE": str(count)}
    started = [
        subprocess.Popen([*command], env={**os.environ, **group, "RANK": str(rank), "LOCAL_RANK": str(rank)})
        for rank in range(count)
    ]
    try:
        while True:
            ended = [each.poll() for each in started]
            failed = next(((rank, status) for rank, status in enumerate(ended) if status), None)
            if failed is not None:
                rank, status = failed
                print(f"process {rank} of {count} ended with status {status}; so do the others", file=sys.stderr)
                return status if status > 0 else 128 - status
            if None not in ended:
                return 0
            time.sleep(LOOKS)
    finally:
        for each in started:
            if each.poll() is None:
                each.terminate()
        for each in started:
            try:
                each.wait(5)
            except subprocess.TimeoutExpired:  # it waits for the others, and takes no signal
                each.kill()
