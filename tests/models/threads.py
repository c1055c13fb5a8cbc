#!/usr/bin/env python3
"""Simulates the exported models with one thread and with three: rows, nodes and streams must be the same bytes.

A model is imported and fused once (fully, which gives the largest graphs), then simulated for each number of threads.
Other exports of a model (opset, folding, ...) become the same graphs and are left out. More numbers of threads are tried on
golden cases (golden/run.py --threads) and on random programs (property.machine).
"""

import argparse
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from run import ROOT, read_options  # noqa: E402
from variants import is_variant  # noqa: E402


def figures(command, program, models, folder):
    """What a run says: status, rows, node figures, stream figures."""
    nodes, streams = folder / "nodes.csv", folder / "streams.csv"
    for path in (nodes, streams):
        path.unlink(missing_ok=True)
    done = subprocess.run([*command, "--nodes", nodes, "--streams", streams], input=program,
                          cwd=models, capture_output=True, check=False)
    read = [path.read_bytes() if path.exists() else b"" for path in (nodes, streams)]
    return [done.returncode, done.stdout, *read]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tools", required=True, help="folder of the built tools")
    parser.add_argument("--models", default=str(ROOT / "testdata" / "models"))
    parser.add_argument("--filter", default="*", help="pattern of case names")
    parser.add_argument("--machine", default="ideal")
    parser.add_argument("--every", type=int, default=1, metavar="N", help="one of N models, in the order of their names")
    arguments = parser.parse_args()
    tools, models = (pathlib.Path(path).resolve() for path in (arguments.tools, arguments.models))
    compared = differing = 0
    with tempfile.TemporaryDirectory() as name:
        cases = sorted(models.glob(f"{arguments.filter}/case.txt"))
        names = {case.parent.name for case in cases}
        for case in [case for case in cases if not is_variant(case.parent.name, names)][::arguments.every]:
            bind, _ = read_options(case)
            imported = subprocess.run([tools / "fuseflow-import", f"{case.parent.name}.onnx", *bind],
                                      cwd=models, capture_output=True, check=False)
            fused = subprocess.run([tools / "fuseflow-fuse", "--strategy=full"], cwd=models,
                                   input=imported.stdout, capture_output=True, check=False)
            if imported.returncode != 0 or fused.returncode != 0:
                continue  # run.py says which should not be so
            sim = [tools / "fuseflow-sim", "--machine", arguments.machine]
            seen = [figures([*sim, "--threads", str(threads)], fused.stdout, models, pathlib.Path(name))
                    for threads in (1, 3)]
            compared += 1
            if seen[0][0] != 0:
                differing += 1
                print(f"FAIL  {case.parent.name}: simulation ends with status {seen[0][0]}", flush=True)
            elif seen[0] != seen[1]:
                differing += 1
                print(f"FAIL  {case.parent.name}: figures depend on the number of threads", flush=True)
    print(f"threads: {compared} models compared, {differing} differ")
    return 1 if differing or compared == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
