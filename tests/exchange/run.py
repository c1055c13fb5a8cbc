#!/usr/bin/env python3
"""Lowered graphs written for Comal or SAM and read again have the same counts.

Each program is run as it is, and written with its data, read back and run: regions with their cycles, FLOPs, bytes and tokens must
be equal. Programs are the kernels of bench/ and models of testdata/models, with the strategies none and full.
"""

import argparse
import csv
import io
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "models"))
from run import read_options  # noqa: E402

# Many regions and many kinds of node, little data.
MODELS = ["gat_dense_heads", "gnn_gin", "sage_mean", "gcn_karate", "encoder_attention", "attention_empty_where_ninf"]
LEFT_OUT = {"seconds", "region", "program", "strategy"}


def run(command, folder, stdin=b""):
    done = subprocess.run([str(word) for word in command], input=stdin, cwd=folder, capture_output=True)
    if done.returncode != 0:
        raise SystemExit(f"{command[0].name}: status {done.returncode}: {done.stderr.decode(errors='replace')}")
    return done.stdout


def counts(tools, program, folder):
    rows = csv.DictReader(io.StringIO(run([tools / "fuseflow-sim"], folder, program).decode()))
    return [{key: value for key, value in row.items() if key not in LEFT_OUT} for row in rows]


def there_and_back(tools, program, folder, form, regions):
    """The program that comes back, through files in a folder of its own."""
    with tempfile.TemporaryDirectory() as made:
        data, graphs = pathlib.Path(made, "data"), pathlib.Path(made, "graphs")
        target = graphs if regions > 1 else pathlib.Path(made, "graph.gv" if form == "sam" else "graph.bin")
        run([tools / "fuseflow-sam", "write", "--format", form, "--data", data, "-o", target], folder, program)
        files = sorted(graphs.iterdir()) if regions > 1 else [target]
        return counts(tools, run([tools / "fuseflow-sam", "read", "--data", data, *files], folder), folder)


def check(tools, name, program, folder, forms):
    regions = program.count(b"\nregion ")
    before = counts(tools, program, folder)
    for form in forms:
        after = there_and_back(tools, program, folder, form, regions)
        if len(after) != len(before):
            raise SystemExit(f"{name}, {form}: {len(after)} rows, expected {len(before)}")
        for row, (expected, got) in enumerate(zip(before, after)):
            differences = [f"{key} {got[key]}, expected {value}" for key, value in expected.items() if got[key] != value]
            if differences:
                raise SystemExit(f"{name}, {form}, row {row + 1}: {'; '.join(differences)}")
    return regions


def programs(tools):
    """(name, lowered program, folder that its paths hold from)"""
    kernels = ROOT / "bench" / "kernels"
    for path in sorted(kernels.glob("*.ff")):
        yield path.stem, run([tools / "fuseflow-lower"], kernels, path.read_bytes()), kernels
    models = ROOT / "testdata" / "models"
    for name in MODELS:
        bind, _ = read_options(models / name / "case.txt")
        imported = run([tools / "fuseflow-import", f"{name}.onnx", *bind], models)
        for strategy in ("none", "full"):
            fused = run([tools / "fuseflow-fuse", f"--strategy={strategy}"], models, imported)
            yield f"{name} {strategy}", run([tools / "fuseflow-lower"], models, fused), models


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tools", required=True, type=pathlib.Path)
    arguments = parser.parse_args()
    tools = arguments.tools.resolve()
    graphs = 0
    for number, (name, program, folder) in enumerate(programs(tools)):
        # Kernels go both ways; models one of them in turn.
        forms = ["comal", "sam"] if folder.name == "kernels" else [("comal", "sam")[number % 2]]
        graphs += check(tools, name, program, folder, forms)
    print(f"{graphs} graphs came back with the same counts")
    return 0 if graphs >= 60 else 1


if __name__ == "__main__":
    sys.exit(main())
