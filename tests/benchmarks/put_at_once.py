"""Two processes that put notes into one store at the same time."""

from __future__ import annotations

import json
import subprocess
import sys

import django

PUTS = 25


def put_at_once(name: str, place: str) -> str:
    """Say how many of 2 × 25 different puts the store acknowledged, and how many it then has."""
    from . import stores

    with stores.opened(name, place):
        pass  # Tables are made once, before anybody writes.
    command = [sys.executable, "-m", "tests.benchmarks.put_at_once", name, place]
    workers = [
        subprocess.Popen(
            [*command, str(first)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        for first in (0, PUTS)
    ]
    pipes = [(worker.stdin, worker.stdout) for worker in workers]
    for _, answers in pipes:
        assert answers is not None
        assert answers.readline() == "ready\n", f"a process for {name} did not start"
    # All are told before any is waited for: one after the other they could lose nothing.
    for orders, _ in pipes:
        assert orders is not None
        orders.write("go\n")
        orders.flush()
    acknowledged = [number for worker in workers for number in json.loads(worker.communicate()[0])]
    assert all(worker.returncode == 0 for worker in workers), name
    try:
        with stores.opened(name, place) as store:
            kept = f"{sum(store.get(f'note{n}') == 'body' for n in acknowledged)} kept"
    except json.JSONDecodeError:
        # One process truncated the file while the other wrote to it.
        kept = "none kept: the file is damaged"
    return f"{len(acknowledged)} of {2 * PUTS} acknowledged, {kept}"


def main(name: str, place: str, first: int) -> None:
    """Say when ready, wait for a line, put the notes and print which were acknowledged."""
    django.setup()
    from . import stores

    acknowledged = []
    with stores.opened(name, place) as store:
        # Connections are opened and servers started before the others are let go.
        store.get("nothing")
        sys.stdout.write("ready\n")
        sys.stdout.flush()
        sys.stdin.readline()
        for number in range(first, first + PUTS):
            try:
                store.put(f"note{number}", "summary", "body")
            except Exception as error:  # noqa: BLE001 (each store fails in a way of its own)
                sys.stderr.write(f"{name}: {error!r}\n")
            else:
                acknowledged.append(number)
    sys.stdout.write(json.dumps(acknowledged))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
