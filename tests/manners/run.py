#!/usr/bin/env python3
"""What tools do on a terminal, which golden cases cannot show: colours, the line that is redrawn, Ctrl-C,
names that are no orders.

`run.py --tools DIR`. Each command runs on a pseudo-terminal of its own; status 77 where there are none (a chroot
without /dev/pts).
"""
import argparse
import os
import pty
import signal
import sys
import tempfile

SMALL = """fuseflow 1
input %a: f32[60, 60] dense,compressed facts(finite) = uniform(density=0.2, seed=1)
input %x: f32[60, 60] dense,dense facts(finite) = uniform(density=1, seed=2)
temp %t: f32[60, 60] dense,dense
temp %u: f32[60, 60] dense,dense
result %y: f32[60, 60] dense,dense
region @t { %t[i, f] = sum(j) %a[i, j] * %x[j, f] }
region @u { %u[i, f] = sum(j) %a[i, j] * %t[j, f] }
region @y { %y[i, f] = sum(j) %a[i, j] * %u[j, f] }
"""
NAMED = r"""fuseflow 1
program "\x1b]0;title\x07"
input %x: f32[3] dense = values(1,2,3)
result %"\x1b[2J\xc2\x9b1m": f32[3] dense
region @y { %"\x1b[2J\xc2\x9b1m"["\x1bi"] = %x["\x1bi"] * 2 }
"""
RED = "\x1b[1;31merror:"
ERASE = "\x1b[K"


def on_terminal(command, environment, interrupt_at=None):
    """What a shell command prints on a terminal, and its status; Ctrl-C is typed once it has printed a text."""
    child, terminal = pty.fork()
    if child == 0:
        for name in ("NO_COLOR", "TERM"):
            os.environ.pop(name, None)
        os.environ.update(environment)
        os.execvp("sh", ["sh", "-c", "exec " + command])
    printed = b""
    while True:
        try:
            piece = os.read(terminal, 4096)
        except OSError:  # the other end is closed
            break
        if not piece:
            break
        printed += piece
        if interrupt_at and interrupt_at.encode() in printed:
            os.write(terminal, b"\x03")
            interrupt_at = None
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    os.close(terminal)
    return printed.decode(), status


def check_colours(expect):
    wrong = "fuseflow-sim no.ff"
    for environment, coloured in (({"TERM": "xterm"}, True), ({"TERM": "xterm", "NO_COLOR": ""}, True),
                                  ({"TERM": "xterm", "NO_COLOR": "1"}, False), ({"TERM": "dumb"}, False), ({}, False)):
        text, _ = on_terminal(wrong, environment)
        expect((RED in text) == coloured and "error:" in text, f"colours with {environment}: {text!r}")
    text, _ = on_terminal(wrong + " 2>&1 | cat", {"TERM": "xterm"})
    expect("\x1b" not in text and "error:" in text, f"colours in a pipe: {text!r}")
    text, _ = on_terminal("fuseflow-sim --mashine x", {"TERM": "xterm"})
    expect(RED in text, f"wrong usage is not coloured: {text!r}")
    text, _ = on_terminal("fuseflow nothing", {"TERM": "xterm"})
    expect(RED in text, f"the umbrella does not colour: {text!r}")


def check_progress(expect):
    search = "fuseflow-explore --exhaustive --max-copies 1 --threads 1 in.ff -o out.csv"
    text, status = on_terminal(search, {"TERM": "xterm"})
    expect(status == 0 and ERASE in text, f"no progress on a terminal: {text!r}")
    expect(text.rstrip().count("cycles at best") == 1, f"no summary at the end: {text!r}")
    for quiet in ({"TERM": "dumb"}, {}):
        text, _ = on_terminal(search, quiet)
        expect("\x1b" not in text and "cycles at best" in text, f"{quiet}: {text!r}")
    text, _ = on_terminal(search + " -q", {"TERM": "xterm"})
    expect(text == "", f"-q is not quiet: {text!r}")


def check_interrupt(expect):
    search = "fuseflow-explore --exhaustive --threads 1 in.ff -o stopped.csv --best stopped.ff"
    text, status = on_terminal(search, {"TERM": "xterm"}, "best so far")
    expect(status == 4, f"Ctrl-C: status {status}")
    expect("the search was interrupted" in text and "cycles at best" in text, f"Ctrl-C: {text!r}")
    for name in ("stopped.csv", "stopped.ff"):
        expect(os.path.getsize(name) > 0, f"Ctrl-C: no {name}")


def check_names(expect):
    """No name gives the terminal an order, whatever writes it."""
    for command in ("sim -v", "order --list", "fuse", "lower", "dot", "estimate", "explore"):
        text, status = on_terminal(f"fuseflow-{command} named.ff", {"TERM": "dumb"})
        orders = [c for c in text if ord(c) < 0x20 and c not in "\r\n\t" or 0x7f <= ord(c) < 0xa0]
        expect(status == 0 and "\\x1b" in text and not orders, f"{command}: {orders} in {text!r}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tools", required=True)
    tools = os.path.abspath(parser.parse_args().tools)
    os.environ["PATH"] = tools + ":" + os.environ["PATH"]
    signal.alarm(int(float(os.environ.get("FUSEFLOW_TEST_TIMEOUT", 120))))
    try:
        for end in pty.openpty():
            os.close(end)
    except OSError as error:
        print("not run:", error)
        return 77
    failures = []

    def expect(holds, text):
        if not holds:
            failures.append(text)

    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        with open("in.ff", "w", encoding="utf-8") as file:
            file.write(SMALL)
        with open("named.ff", "w", encoding="utf-8") as file:
            file.write(NAMED)
        for check in (check_colours, check_progress, check_interrupt, check_names):
            check(expect)
        os.chdir("/")
    for text in failures:
        print("FAILED", text)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
