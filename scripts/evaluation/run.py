#!/usr/bin/env python3
"""The evaluation: `run.py --tier fast --tools DIR [--data DIR] [--out DIR] [NAME...]`."""
import argparse
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import figures  # noqa: E402
from harness import TIERS, Harness  # noqa: E402


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tier", choices=TIERS, default="fast")
    parser.add_argument("--tools", required=True, help="directory of the built tools")
    parser.add_argument("--data", default="", help="directory with graphs/NAME.adj.mtx, NAME.x.mtx")
    parser.add_argument("--out", default="out")
    parser.add_argument("--jobs", type=int, default=0, help="programs at a time (default: cores)")
    parser.add_argument("names", nargs="*", help=", ".join(figures.ALL))
    options = parser.parse_args()
    h = Harness(options.tier, options.tools, options.data, options.out,
                options.jobs)
    chosen = options.names or [name for name in figures.ALL if options.tier != "fast" or name not in figures.NOT_FAST]
    for name in chosen:
        if name not in figures.ALL:
            raise SystemExit(f"no figure or table is called {name}; there are {', '.join(figures.ALL)}")
        h.log(name)
        figures.ALL[name](h)
    h.log("done")


if __name__ == "__main__":
    main()
