#!/usr/bin/env python3
"""Opens a report in headless Chromium and compares its numbers with the CSVs that it was made of.

Runs a GCN unfused and fused and a small search, makes the page, and looks at what the browser made of it: no
errors, nothing loaded from elsewhere, no scripts, every run, critical node, stream and status of the search as
in its CSV. Where Chromium is missing, all of it is compared but whether a browser opens the page.
"""

import argparse
import csv
import html.parser
import pathlib
import shutil
import subprocess
import sys
import tempfile

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
COMMANDS = """
fuseflow-import "{models}/gcn_karate.onnx" --name karate --bind "adj={models}/gcn_karate/adj.mtx" --bind "x={models}/gcn_karate/x.mtx" -o kernels.ff
fuseflow-fuse --strategy=none kernels.ff -o none.ff
fuseflow-sim --machine rda none.ff -o none.csv
fuseflow-fuse --strategy=full kernels.ff | fuseflow-parallelize --index full:i --factor 2 -o full.ff
fuseflow-sim --machine rda --check full.ff -o full.csv --nodes nodes.csv --streams streams.csv
fuseflow-explore --machine rda kernels.ff --max-kernels 3 --max-orders 2 --max-placements 3 --max-copies 1 -o search.csv
fuseflow-report none.csv full.csv --program full.ff --nodes nodes.csv --streams streams.csv --search search.csv --html page.html
fuseflow-report none.csv full.csv --program full.ff --nodes nodes.csv --streams streams.csv --search search.csv --html again.html
"""


class Page(html.parser.HTMLParser):
    """Tables (lists of rows of texts, whole names for short ones), sections, and what would be loaded or run."""

    def __init__(self, text):
        super().__init__()
        self.tables, self.sections, self.suspects = [], [], []
        self.cell = self.whole = None
        self.heading = None
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        if tag == "table":
            self.tables.append([])
        elif tag == "tr":
            self.tables[-1].append([])
        elif tag in ("td", "th"):
            self.cell, self.whole = "", None
        elif tag == "span" and self.cell is not None:
            self.whole = dict(attributes).get("title")
        elif tag == "h2":
            self.heading = ""
        if tag in ("script", "link", "iframe", "img", "object"):
            self.suspects.append(f"<{tag}>")
        for name, value in attributes:
            if name.startswith("on") or (name in ("src", "href", "xlink:href") and value and not value.startswith("#")):
                self.suspects.append(f"{tag} {name}={value}")

    def handle_endtag(self, tag):
        if tag in ("td", "th"):
            self.tables[-1][-1].append(self.whole or self.cell)
            self.cell = None
        elif tag == "h2":
            self.sections.append(self.heading)
            self.heading = None

    def handle_data(self, data):
        if self.cell is not None:
            self.cell += data
        if self.heading is not None:
            self.heading += data

    def table(self, first, *others):
        """The rows below the header that has these columns."""
        for rows in self.tables:
            if rows and first in rows[0] and all(name in rows[0] for name in others):
                return [dict(zip(rows[0], row)) for row in rows[1:]]
        sys.exit(f"the page has no table with the columns {first}, {', '.join(others)}")


def rows_of(path):
    with path.open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


def number(text):
    return int(text.replace(",", ""))


def same(what, page, expected):
    if page != expected:
        sys.exit(f"{what}: the page says {page}, the CSV {expected}")


def check_runs(page, folder):
    rows = page.table("run", "cycles", "speed-up")
    same("runs", [row["run"] for row in rows], ["none.csv", "full.csv"])
    base = None
    for row in rows:
        total = rows_of(folder / row["run"])[-1]
        base = base or float(total["seconds"])
        same("cycles", number(row["cycles"]), int(total["cycles"]))
        same("bytes", number(row["DRAM bytes"]), int(total["dram_read_bytes"]) + int(total["dram_write_bytes"]))
        same("FLOPs", number(row["FLOPs"]), int(total["flops"]))
        same("strategy", row["strategy"], total["strategy"])
        same("checked", row["checked"], total["checked"])
        same("speed-up", row["speed-up"], f"{base / float(total['seconds']):.2f}x")


def check_nodes(page, folder):
    nodes = {(row["region"], row["node"]): row for row in rows_of(folder / "nodes.csv")}
    cycles = {row["region"]: int(row["cycles"]) for row in rows_of(folder / "full.csv")}
    rows = page.table("node", "waits for", "busy cycles")
    busy = [number(row["busy cycles"]) for row in rows]
    same("the busiest node", busy[0], max(int(row["busy"]) for row in nodes.values()))
    same("order", busy, sorted(busy, reverse=True))
    same("copies", {row["copies"] for row in rows} - {"", "2"}, set())  # two parallel copies are one row
    if not any(row["copies"] == "2" for row in rows):
        sys.exit("no critical node of two copies, though all of the graph has them")
    for row in rows:
        node = nodes[row["region"], row["node"].split()[0]]
        same("busy", number(row["busy cycles"]), int(node["busy"]))
        same("FLOPs", number(row["FLOPs"]), int(node["flops"]))
        same("bytes", number(row["bytes"]), int(node["read_bytes"]) + int(node["write_bytes"]))
        same("statement", row["statement"], node["statement"] + (f" ({node['layer']})" if node["layer"] else ""))
        for share in "busy", "memory", "starved", "blocked":
            same(share, row[share], f"{100 * int(node[share]) / cycles[row['region']]:.1f}%")


def check_search(page, folder):
    points = [row for row in rows_of(folder / "search.csv") if row["point"].isdigit()]
    totals = {row["point"]: int(row["cycles"]) for row in rows_of(folder / "search.csv") if not row["point"].isdigit()}
    counted = {}
    for row in points:
        counted[row["status"]] = counted.get(row["status"], 0) + 1
    shown = {row["points"]: number(row["number"]) for row in page.table("points", "number")}
    same("points", shown, counted)
    same("totals", {row["program of the search"]: number(row["cycles"]) for row in page.table("program of the search")}, totals)


def opened(browser, path):
    """What the browser made of the page."""
    words = [browser, "--headless", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr", "--dump-dom", path.as_uri()]
    done = subprocess.run(words, capture_output=True, timeout=120, check=False, encoding="utf-8")
    if done.returncode != 0 or "</html>" not in done.stdout:
        sys.exit(f"{browser} did not open {path}: status {done.returncode}\n{done.stderr[-2000:]}")
    complaints = [line for line in done.stderr.splitlines() if "CONSOLE" in line]
    if complaints:
        sys.exit("the browser complains:\n" + "\n".join(complaints))
    return done.stdout


def make(options, folder):
    for command in COMMANDS.format(models=options.models.resolve()).strip().splitlines():
        path = {"PATH": f"{options.bin_dir.resolve()}:/usr/bin:/bin"}
        done = subprocess.run(["bash", "-c", command], cwd=folder, env=path, capture_output=True, encoding="utf-8", check=False)
        if done.returncode != 0:
            sys.exit(f"{command}: status {done.returncode}\n{done.stderr}")
    same("a second page", (folder / "again.html").read_bytes(), (folder / "page.html").read_bytes())


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bin-dir", type=pathlib.Path, required=True)
    parser.add_argument("--models", type=pathlib.Path, required=True)
    parser.add_argument("--keep", type=pathlib.Path, help="copy the page there")
    options = parser.parse_args()
    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        make(options, folder)
        if options.keep:
            shutil.copy(folder / "page.html", options.keep)
        file = folder / "page.html"
        page = Page(opened(browser, file) if browser else file.read_text(encoding="utf-8"))
        if page.suspects:
            sys.exit(f"the page is not self-contained: {page.suspects}")
        check_runs(page, folder)
        check_nodes(page, folder)
        check_search(page, folder)
        for section in ("What ran", "Runs", "Regions", "Layers and statements", "Roofline", "Critical nodes", "Streams",
                        "Search", "Data"):
            if section not in page.sections:
                sys.exit(f"the page has no section '{section}', only {page.sections}")
    print("the page's numbers are those of the CSVs" + (", and it opens" if browser else "; no Chromium to open it"))


if __name__ == "__main__":
    main()
