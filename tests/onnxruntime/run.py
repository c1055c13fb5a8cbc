#!/usr/bin/env python3
"""Small random ONNX models, through fuseflow and through onnxruntime: are the results equal?

    scripts/onnxruntime [--seed N] [--count N] [--only OP ...] [--keep DIR] [--bin-dir build/bin] [--list] [-v]

A model is one operator, with what may stand in front of its inputs (a Transpose, a Concat, a Slice, an activation) and after its
first result. Drawn are: the opset, attributes and optional inputs (given or left out), shapes, axes, element types, which inputs
are constants, and special values. A model depends on --seed, its operator and its number among the models of that operator only,
so that --only draws the same models again. Each goes through onnxruntime and through

    fuseflow-import model.onnx --bind ... | fuseflow-sim --check --expect ...

and is
  right           every result agrees with onnxruntime's
  wrong           a result differs, or a check failed
  refused         fuseflow-import says why it does not read the model
  failed          any other end: a signal, an internal error, a program that the simulator rejects, no answer
  not applicable  onnxruntime refuses the model

Wrong and failed ones are printed, and with --keep written to DIR/OP.SEED.NUMBER: model.onnx, in.NAME.npy, out.NAME.npy (as
scripts/exports takes them) and the script `run`, which shows the case again. Status 1 if any is wrong or failed.

The definition of ONNX decides who is right, not onnxruntime. Where it does not follow the text: ConvTranspose below 11 with
output_shape, OneHot 9 with negative indices, MultiHeadAttention that is unidirectional with more keys than queries, the cell of
an LSTM with clip, Affine and ScaledTanh of recurrent operators without alpha, Attention that is causal with one query, a cache
and several keys, Resize with align_corners and scales that give no whole extents (github.com/onnx/onnx/issues/2462), and
shapes of reductions over nothing by negative axes. Such models are not drawn.

Needs Debian's python3-numpy, and node; the first use installs onnxruntime-node from npm into ~/.cache/fuseflow-onnxruntime
(300 MB).
"""

import argparse
import base64
import collections
import json
import pathlib
import random
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile

import numpy as np

# The modules whose operators are drawn.
import elementwise  # noqa: F401
import movement  # noqa: F401
import gathering  # noqa: F401
import reductions  # noqa: F401
import windows  # noqa: F401
import products  # noqa: F401
import sequences  # noqa: F401
import microsoft  # noqa: F401
from drawing import Draw, OPERATORS, TYPES


ROOT = pathlib.Path(__file__).resolve().parents[2]
CACHE = pathlib.Path.home() / ".cache" / "fuseflow-onnxruntime"
OUTCOMES = ("right", "wrong", "refused", "failed", "not applicable")

# One line of JSON a model, one line of JSON an answer. Without optimisation: its fused kernels are no operators of ONNX.
RUNNER = r"""
const ort = require('onnxruntime-node');
const lines = require('readline').createInterface({input: process.stdin, terminal: false});
const arrays = {float32: Float32Array, float64: Float64Array, bool: Uint8Array,
                int8: Int8Array, int16: Int16Array, int32: Int32Array, int64: BigInt64Array,
                uint8: Uint8Array, uint16: Uint16Array, uint32: Uint32Array, uint64: BigUint64Array};
async function answer(job) {
  const session = await ort.InferenceSession.create(Buffer.from(job.model, 'base64'),
      {graphOptimizationLevel: 'disabled', logSeverityLevel: 4, intraOpNumThreads: 1});
  const feeds = {};
  for (const [name, given] of Object.entries(job.inputs)) {
    const bytes = new Uint8Array(Buffer.from(given.data, 'base64'));
    const kind = arrays[given.type];
    feeds[name] = new ort.Tensor(given.type, new kind(bytes.buffer, 0, bytes.length / kind.BYTES_PER_ELEMENT), given.dims);
  }
  const results = {};
  for (const [name, result] of Object.entries(await session.run(feeds))) {
    const data = result.data;
    results[name] = {type: result.type, dims: result.dims,
                     data: Buffer.from(data.buffer, data.byteOffset, data.byteLength).toString('base64')};
  }
  await session.release();
  return results;
}
(async () => {
  for await (const line of lines) {
    let said;
    try { said = {results: await answer(JSON.parse(line))}; } catch (error) { said = {error: String(error)}; }
    process.stdout.write(JSON.stringify(said) + '\n');
  }
})();
"""


class Onnxruntime:
    """A process of node that runs models one after another; a new one where it ended with a signal."""

    def __init__(self):
        if not (CACHE / "node_modules" / "onnxruntime-node").exists():
            CACHE.mkdir(parents=True, exist_ok=True)
            # The package's own install script fetches only libraries for GPUs.
            subprocess.run(["npm", "install", "--ignore-scripts", "--no-audit", "--no-fund", "--prefix", str(CACHE),
                            "onnxruntime-node"],
                           check=True, stdout=sys.stderr)
        self.process = None

    def start(self):
        self.process = subprocess.Popen(["node", "-e", RUNNER], cwd=CACHE, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.DEVNULL, text=True)

    def run(self, model, inputs):
        """(name -> array, or None; message)"""
        if self.process is None or self.process.poll() is not None:
            self.start()
        given = {n: {"type": TYPES[a.dtype.name][1], "dims": list(a.shape), "data": base64.b64encode(a.tobytes()).decode()}
                 for n, a in inputs.items()}
        try:
            self.process.stdin.write(json.dumps({"model": base64.b64encode(model).decode(), "inputs": given}) + "\n")
            self.process.stdin.flush()
            said = json.loads(self.process.stdout.readline())
        except (BrokenPipeError, json.JSONDecodeError):
            self.process.kill()
            self.process = None
            return None, "onnxruntime ended"
        if "error" in said:
            return None, said["error"]
        return {n: np.frombuffer(base64.b64decode(r["data"]), "bool" if r["type"] == "bool" else r["type"]).reshape(r["dims"])
                for n, r in said["results"].items()}, ""


def write_case(folder, draw, model, results):
    """The case's files; the words of both commands."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "model.onnx").write_bytes(model)
    binds, expects = [], []
    for stem, flag, arrays, words in (("in", "--bind", draw.inputs, binds), ("out", "--expect", results, expects)):
        for name, array in arrays.items():
            # fuseflow reads no .npy of the two wide unsigned types.
            np.save(folder / f"{stem}.{name}.npy", array.astype("int64") if array.dtype.name in ("uint32", "uint64") else array)
            words.append(f"{flag}={name}={stem}.{name}.npy")
    return ["fuseflow-import", "model.onnx", *binds], ["fuseflow-sim", "--check", *expects]


def write_run(folder, commands, bin_dir, text):
    words = " | ".join(shlex.join([f"{bin_dir}/{c[0]}", *c[1:]]) for c in commands)
    (folder / "run").write_text(f"#!/bin/sh\n# {text}\ncd \"$(dirname \"$0\")\" && {words}\n")
    (folder / "run").chmod(0o755)


def fuseflow(folder, commands, options):
    """(outcome, message)"""
    text = b""
    for command in commands:
        try:
            done = subprocess.run([str(options.bin_dir / command[0]), *command[1:]], cwd=folder, input=text, capture_output=True,
                                  timeout=options.timeout)
        except subprocess.TimeoutExpired:
            return "failed", f"{command[0]}: no answer in {options.timeout} s"
        text = done.stdout
        if done.returncode != 0:
            said = [line for line in done.stderr.decode(errors="replace").splitlines() if "error" in line] or ["no message"]
            importing = command[0] == "fuseflow-import"
            outcome = {1: "refused"} if importing else {4: "wrong"}
            return outcome.get(done.returncode, "failed"), f"{command[0]}: status {done.returncode}: {said[0]}"
    return "right", ""


def run_case(draw, onnxruntime, options, scratch):
    """(outcome, message, commands, results)"""
    results, said = onnxruntime.run(draw.model(), draw.inputs)
    if results is None:
        return "not applicable", said, None
    results = {n: results[n] for n in draw.results}
    shutil.rmtree(scratch, ignore_errors=True)
    model = draw.model({n: (r.dtype.name, None if draw.symbolic else r.shape) for n, r in results.items()})
    commands = write_case(scratch, draw, model, results)
    outcome, message = fuseflow(scratch, commands, options)
    return outcome, message, commands


def cases(options):
    """(operator, number among its models, model)"""
    order = [op for op, (_, _, weight) in OPERATORS.items() for _ in range(weight) if not options.only or op in options.only]
    random.Random(options.seed).shuffle(order)
    numbers = collections.Counter()
    for i in range(options.count):
        op = order[i % len(order)]
        function, opsets, _ = OPERATORS[op]
        draw = Draw(f"{options.seed} {op} {numbers[op]}", opsets)
        with np.errstate(all="ignore"):
            function(draw, op)
        if not draw.plain and draw.chance():
            draw.follow()
        yield op, numbers[op], draw
        numbers[op] += 1


def print_table(counts):
    width = max(map(len, counts))
    print(f"{'operator':{width}} " + " ".join(f"{o:>14}" for o in OUTCOMES))
    for op in sorted(counts):
        print(f"{op:{width}} " + " ".join(f"{counts[op][o]:14}" for o in OUTCOMES))
    total = {o: sum(c[o] for c in counts.values()) for o in OUTCOMES}
    print(f"{'all':{width}} " + " ".join(f"{total[o]:14}" for o in OUTCOMES))
    return total["wrong"] + total["failed"]


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=1, metavar="N")
    parser.add_argument("--count", type=int, default=300, metavar="N", help="models (default: 300)")
    parser.add_argument("--only", nargs="+", metavar="OP", help="operators; ms.NAME is one of com.microsoft")
    parser.add_argument("--keep", type=pathlib.Path, metavar="DIR", help="write wrong and failed cases to DIR")
    parser.add_argument("--bin-dir", type=pathlib.Path, default=ROOT / "build" / "bin", metavar="DIR")
    parser.add_argument("--timeout", type=float, default=60, metavar="S", help="of one tool (default: 60)")
    parser.add_argument("--list", action="store_true", help="print the operators and end")
    parser.add_argument("-v", "--verbose", action="store_true", help="print every case")
    options = parser.parse_args()
    options.bin_dir = options.bin_dir.resolve()
    if unknown := set(options.only or ()) - OPERATORS.keys():
        sys.exit(f"onnxruntime: no operator {' '.join(sorted(unknown))}; --list prints them")
    return options


def main():
    options = arguments()
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    if options.list:
        print("\n".join(sorted(OPERATORS)))
        return 0
    counts = collections.defaultdict(collections.Counter)
    onnxruntime = Onnxruntime()
    with tempfile.TemporaryDirectory() as there:
        scratch = pathlib.Path(there) / "case"
        for op, number, draw in cases(options):
            outcome, message, commands = run_case(draw, onnxruntime, options, scratch)
            counts[op][outcome] += 1
            if outcome in ("wrong", "failed") or options.verbose:
                print(f"{outcome}: {op}.{options.seed}.{number}: {draw.text()}\n    {message}", flush=True)
            if outcome in ("wrong", "failed") and options.keep:
                kept = options.keep / f"{op}.{options.seed}.{number}"
                shutil.copytree(scratch, kept, dirs_exist_ok=True)
                write_run(kept, commands, options.bin_dir, draw.text())
    return 1 if print_table(counts) else 0


if __name__ == "__main__":
    sys.exit(main())
