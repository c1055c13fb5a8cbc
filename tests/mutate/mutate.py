#!/usr/bin/env python3
"""Puts faults into the sources and shows which tests notice.

    scripts/mutate [--seed N...] [--count N]   faults drawn by seed over src, none by hand
    scripts/mutate --named                     those of tests/mutate/named.txt

A fault is a changed constant, another operator, a dropped term, a negated condition, min for max. All that can be are compiled
into one build, in a copy of the tree, and switched on one at a time by an environment variable; the others get builds of their own.
The tests (unit tests, golden cases, pinned counts, properties) are run once to see which faults each reaches; then each fault is
shown to the entries that reach it, the cheapest first, until one fails. One that none of them notices is shown to the unit tests
once more, with all the cases that scripts/property draws: has the suite become too short? Printed is a table: fault, what caught
it; --resume takes a table of a run that was stopped, and goes on after what it has.
Status 1 where less than --least percent of the faults that compile are caught; one that no test reaches is not.
"""

import argparse
import concurrent.futures
import pathlib
import shutil
import sys
import tempfile

import faults
import scratch
import suites

ROOT = pathlib.Path(__file__).resolve().parents[2]


def say(text):
    print(f"mutate: {text}", file=sys.stderr, flush=True)


def build_switched(copy, drawn, targets):
    """Builds all faults that can be switched; returns (switchable, the others)."""
    switched, alone = list(drawn), []
    while True:
        copy.apply(switched)
        copy.configure()
        errors = copy.make(targets)
        if not errors:
            return switched, alone
        blamed = copy.blamed(errors, switched)
        if not blamed:
            raise SystemExit(f"mutate: the copy does not build:\n{errors[-3000:]}")
        say(f"{len(blamed)} faults cannot be switched: {', '.join(f.place() for f in blamed)}")
        alone += blamed
        switched = [f for f in switched if f not in blamed]


def show_switched(faults_on, entries, jobs, outcomes):
    """Shows each fault to the entries that reach it, several faults at a time; reports in the order of faults."""
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        noticed = [pool.submit(suites.first_to_notice, fault, entries) for fault in faults_on]
        for fault, entry in zip(faults_on, noticed):
            reached = any(fault.id in e.reached for e in entries)
            report_noticed(outcomes, fault, entry.result(), "" if reached else "(no test gets there)")


def show_alone(copy, fault, switched, entries, outcomes):
    """A fault that needs a build of its own."""
    copy.apply(switched, fault)
    if copy.make(["all"]):
        return report(outcomes, fault, "does not compile", "")
    return report_noticed(outcomes, fault, suites.first_to_notice(fault, entries, reaching=False), "")


def report_noticed(outcomes, fault, noticed, otherwise):
    if not noticed:
        return report(outcomes, fault, "survived", otherwise)
    entry, why = noticed
    if why == suites.ALL_CASES_ALONE:
        return report(outcomes, fault, "survived", f"(noticed by {entry.name} with the cases of scripts/property)")
    return report(outcomes, fault, "caught", entry.name + (" (hangs)" if why == "hangs" else ""))


def report(outcomes, fault, outcome, by):
    outcomes.append(outcome)
    print(row(fault, outcome, by), flush=True)


def shown_before(path, drawn, outcomes):
    """Prints the rows that a table has of the drawn faults again; returns the other faults."""
    known = {}
    for line in path.read_text().splitlines():
        cells = line.split(" | ")
        if line.startswith("| src/") and len(cells) == 6:
            known[tuple(cells[:4])] = (cells[4], cells[5].removesuffix(" |"))
    rest = []
    for fault in drawn:
        of = known.get(tuple(row(fault, "", "").split(" | ")[:4]))
        report(outcomes, fault, *of) if of else rest.append(fault)
    return rest


def short(text):
    text = " ".join(text.split())
    return text if len(text) <= 48 else text[:45] + "..."


def row(fault, outcome, by):
    return f"| {fault.place()} | {fault.kind} | `{short(fault.before)}` | `{short(fault.after)}` | {outcome} | {by} |"


def main():
    parser = argparse.ArgumentParser(prog="scripts/mutate", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, nargs="+", default=[1])
    parser.add_argument("--count", type=int, default=60, help="faults to draw with each seed (default: 60)")
    parser.add_argument("--named", action="store_true", help="the faults of tests/mutate/named.txt instead")
    parser.add_argument("--jobs", type=int, default=2, help="compilers, and faults, at a time")
    parser.add_argument("--least", type=float, default=90, help="percent that must be caught (default: 90)")
    parser.add_argument("--list", action="store_true", help="only print the faults")
    parser.add_argument("--under", default="src", help="only files whose names begin so (default: src)")
    parser.add_argument("--only", default="", help="only entries of ctest whose names begin so")
    parser.add_argument("--resume", type=pathlib.Path, help="a table of the same faults that was not finished")
    parser.add_argument("--folder", type=pathlib.Path, default=pathlib.Path(tempfile.gettempdir(), "fuseflow-mutate"),
                        help="of the copy; kept, so that the next run builds less")
    options = parser.parse_args()

    copy = scratch.Scratch(ROOT, options.folder.resolve(), options.jobs)
    names = [n for n in copy.names if n.startswith("src/") and n.startswith(options.under) and n.endswith((".cpp", ".h"))]
    sources = {name: copy.source(name) for name in names}
    drawn = (faults.named(pathlib.Path(__file__).with_name("named.txt"), sources) if options.named
             else faults.draw(sources, options.seed, options.count))
    for number, fault in enumerate(drawn):
        fault.id = number
    if options.list:
        print("\n".join(row(fault, "", "") for fault in drawn))
        return
    if shutil.which("ccache") is None:
        say("there is no ccache: the copy is built from nothing")
    print("| fault | kind | before | after | outcome | by |\n|---|---|---|---|---|---|", flush=True)
    outcomes = []
    drawn = shown_before(options.resume, drawn, outcomes) if options.resume else drawn
    say(f"building {len(drawn)} faults in {copy.folder}")
    switched, alone = build_switched(copy, drawn, ["all"])
    entries = suites.load_entries(copy.build, options.only)
    say(f"running {len(entries)} entries without a fault")
    entries = suites.measure(entries, say)
    show_switched(switched, entries, options.jobs, outcomes)
    for fault in alone:
        show_alone(copy, fault, switched, entries, outcomes)
    caught, survived = outcomes.count("caught"), outcomes.count("survived")
    share = 100 * caught / max(1, caught + survived)
    print(f"\n{caught} caught, {survived} survived ({share:.0f}% caught), {outcomes.count('does not compile')} do not compile")
    sys.exit(0 if share >= options.least else 1)


if __name__ == "__main__":
    main()
