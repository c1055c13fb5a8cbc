"""One golden case: its file, how it is run, and what differs from what it expects (the form of the file: run.py).

Most runs are of one case that is right, and there are hundreds of them: what takes long to import (subprocess, tempfile,
argparse) is left out here.
"""

import os
import select
import sys
import time

OUTCOMES = ("status", "stdout", "stderr")


class TimedOut(Exception):
    """A case that did not end in its time: that is never what a case expects."""


def read_case(path):
    """The comment and the list of [name, argument, text] of a case file."""
    comment, sections = "", []
    with open(path, encoding="utf-8") as file:
        lines = file.readlines()
    for line in lines:
        if line.startswith("=== "):
            name, _, argument = line[4:].strip().partition(" ")
            if name not in OUTCOMES + ("command", "file"):
                sys.exit(f"{path}: unknown section '{name}', expected command, file, status, stdout, stderr")
            sections.append([name, argument, ""])
        elif sections:
            sections[-1][2] += line
        else:
            comment += line
    if not any(name == "command" for name, _, _ in sections):
        sys.exit(f"{path}: no command section, expected `=== command`")
    return comment, sections


def write(folder, name, text, mode=0o644):
    target = os.path.join(folder, name)
    os.makedirs(os.path.dirname(target), exist_ok=True)
    with open(target, "w", encoding="utf-8") as file:
        file.write(text)
    os.chmod(target, mode)


def remove(folder):
    for root, folders, files in os.walk(folder, topdown=False):
        os.chmod(root, 0o700)
        for name in files:
            os.unlink(os.path.join(root, name))
        for name in folders:
            path = os.path.join(root, name)
            os.unlink(path) if os.path.islink(path) else os.rmdir(path)
    os.rmdir(folder)


def start(words, folder, env, outputs):
    """Starts a command in a folder, its standard output and error on these descriptors; returns its process."""
    process = os.fork()
    if process == 0:
        try:
            os.chdir(folder)
            os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
            for number, output in enumerate(outputs, 1):
                os.dup2(output, number)
            os.execvpe(words[0], words, env)
        finally:
            os._exit(127)
    return process


def execute(words, folder, env, seconds):
    """The status and what was written to standard output and error."""
    pipes = [os.pipe(), os.pipe()]
    process = start(words, folder, env, [output for _, output in pipes])
    written = {read: b"" for read, _ in pipes}
    for _, output in pipes:
        os.close(output)
    end, left = time.monotonic() + seconds, list(written)
    while left:
        ready = select.select(left, [], [], max(0, end - time.monotonic()))[0]
        if not ready:
            os.kill(process, 9)
            os.waitpid(process, 0)
            break
        for read in ready:
            data = os.read(read, 1 << 16)
            written[read] += data
            if not data:
                left.remove(read)
    for read in written:
        os.close(read)
    if left:
        raise TimedOut
    return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]), *written.values()


def outcome(sections, bin_dir, testdata, seconds, threads=None):
    """What the case gives, by section; with `threads` by a fuseflow-sim that is the one of bin_dir with --threads."""
    base = os.path.join(os.environ.get("TMPDIR", "/tmp"), f"golden-{os.getpid()}-{time.monotonic_ns()}")
    os.mkdir(base, 0o700)
    folder, wrapped = os.path.join(base, "case"), os.path.join(base, "bin")
    os.mkdir(folder)
    os.mkdir(wrapped)
    try:
        if threads:
            write(wrapped, "fuseflow-sim", f'#!/bin/sh\nexec "{bin_dir}/fuseflow-sim" --threads {threads} "$@"\n', 0o755)
        for name, argument, text in sections:
            if name == "file":
                write(folder, argument, text)
        env = dict(os.environ, PATH=f"{wrapped}:{bin_dir}:{os.environ['PATH']}", TESTDATA=str(testdata), LC_ALL="C")
        # Python ignores SIGPIPE, and what it starts would, too.
        words = ["env", "--default-signal=PIPE", "bash", "-o", "pipefail", "-c", command_of(sections)]
        status, stdout, stderr = execute(words, folder, env, seconds)
    finally:
        remove(base)
    decode = lambda data: data.decode("utf-8", errors="backslashreplace")
    return {"status": f"{status}\n", "stdout": decode(stdout), "stderr": decode(stderr)}


def command_of(sections):
    return "".join(text for name, _, text in sections if name == "command")


def compare(sections, given):
    """Unified differences; a missing status means 0, a missing text means empty."""
    expected = {"status": "0\n", "stdout": "", "stderr": ""}
    expected.update({name: text for name, _, text in sections if name in OUTCOMES})
    lines = []
    for name in OUTCOMES:
        want, got = expected[name], given[name]
        if got and not got.endswith("\n"):
            got += "\n"
        if want.strip() == "..." or want == got:
            continue
        import difflib  # only here: it takes longer than a case
        lines += difflib.unified_diff(want.splitlines(), got.splitlines(), f"expected {name}",
                                      f"actual {name}", lineterm="")
    return lines


def run(sections, bin_dir, testdata, seconds, numbers_of_threads):
    """(outcome, difference) of a case; a case that simulates is run with each number of threads. Raises TimedOut."""
    command = command_of(sections)
    numbers = numbers_of_threads if "fuseflow-sim" in command and "--threads" not in command else []
    for threads in numbers or [None]:
        given = outcome(sections, bin_dir, testdata, seconds, threads)
        difference = compare(sections, given)
        if difference:
            return given, difference + ([f"with {threads} threads"] if threads else [])
    return given, []
