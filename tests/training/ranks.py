"""A program that has imported torch once, and forks the processes that train: importing takes seconds.

Reads a line of JSON for each request: {"argv": …, "ranks": [[environment, file for its output], …]} starts
processes and is answered with their ids, {"wait": ids} with their exit codes.
"""

from __future__ import annotations

import json
import os
import sys


def fork(argv: list[str], variables: dict[str, str], output: str) -> int:
    """Run `spansrl …` in a process of its own; returns its id."""
    from spansrl.cli import main

    if pid := os.fork():
        return pid
    code: object = 70
    try:
        file = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(file, 1)
        os.dup2(file, 2)
        os.environ.update(variables)
        sys.argv = argv
        main()
    except SystemExit as end:
        code = end.code or 0
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code if isinstance(code, int) else 1)


def serve() -> None:
    import torch._dynamo  # noqa: F401 (as optimizers do)

    import spansrl.training.runs  # noqa: F401

    for line in sys.stdin:
        request = json.loads(line)
        if "wait" in request:
            answer = [os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in request["wait"]]
        else:
            answer = [fork(request["argv"], *rank) for rank in request["ranks"]]
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    serve()
