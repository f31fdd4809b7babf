"""Runs Python scripts on request in copies of one process that has imported the large modules already: importing
nibabel or scipy takes longer than most checks of the command-line tests.

usage: serve.py FOLDER MODULE...      started and asked by start_python and ask_python of tests/cli/lib.sh

FOLDER holds two named pipes, `ask` and `answer`. The first answer is 0 if all modules could be imported. Each line
of `ask` then stands for one request: FOLDER/request holds the working directory, the script and its arguments, each
ended by a NUL; a forked process runs it with its output in FOLDER/script_out and FOLDER/script_err; the answer is its
exit status. A signal ends the program.
"""

import importlib
import os
import runpy
import sys
import traceback

folder = sys.argv[1]


def answer(status):
    with open(f"{folder}/answer", "w") as f:
        f.write(f"{status}\n")


def run(directory, script, arguments):
    """In the forked process: the script as `python3 SCRIPT ARGUMENTS` would run it; returns its exit status."""
    os.chdir(directory)
    for name, fd in ("out", 1), ("err", 2):
        file = os.open(f"{folder}/script_{name}", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        os.dup2(file, fd)
    sys.argv = [script, *arguments]
    sys.path[0] = os.path.dirname(script)
    status = 0
    try:
        runpy.run_path(script, run_name="__main__")
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else end.code is not None
        if isinstance(end.code, str):
            print(end.code, file=sys.stderr)
    except BaseException:
        traceback.print_exc()
        status = 1
    sys.stdout.flush()
    sys.stderr.flush()
    return int(status)


with open(f"{folder}/ask") as ask:  # both pipes stay open in the shell
    try:
        for module in sys.argv[2:]:
            importlib.import_module(module)
    except ImportError:
        answer(1)
        sys.exit(1)
    answer(0)
    for line in ask:
        with open(f"{folder}/request") as f:
            directory, script, *arguments = f.read().split("\0")[:-1]
        child = os.fork()
        if child == 0:
            os._exit(run(directory, script, arguments))
        answer(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
