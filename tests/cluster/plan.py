#!/usr/bin/env python3
"""What fuseflow-cluster --plan writes is what ir-spec/plan.schema.json says, and adds up.

The validator knows the keywords that the schema uses and refuses any other; where the package
`jsonschema` is installed, it must agree.
"""

import argparse
import copy
import json
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
SCHEMA = json.loads((ROOT / "ir-spec" / "plan.schema.json").read_text())
PARTIAL = {"exchange_partial", "reduce_scatter"}  # copies over the links whose numbers are added to others
NOTES = {"$schema", "$defs", "title", "description"}
TYPES = {"object": dict, "array": list, "string": str, "boolean": bool, "null": type(None)}

LAYER = """fuseflow 1
input %x: f16[32, 64] dense,dense = uniform(density=1,seed=1)
const %u: f16[64, 128] dense,dense = uniform(density=1,seed=2)
const %"a \\"quoted\\" name": f16[128, 64] dense,dense = uniform(density=1,seed=3)
temp %c: f16[32, 128] dense,dense
temp %e: f16[32, 64] dense,dense
temp %f: f16[32, 128] dense,dense
result %y: f16[32, 64] dense,dense
region @c { %c[i, j] = sum(k) %x[i, k] * %u[k, j] }
region @e { %e[i, o] = sum(j) %c[i, j] * %"a \\"quoted\\" name"[j, o] }
region @f { %f[i, j] = sum(k) %e[i, k] * %u[k, j] }
region @y { %y[i, o] = sum(j) %f[i, j] * %"a \\"quoted\\" name"[j, o] }
"""

GRAPH = """fuseflow 1
const %a: f32[512, 512] dense,compressed = power_law(edges=600,values=uniform(0,0.5),seed=7)
input %x: f32[512, 64] dense,dense = dense(seed=1)
const %w: f32[64, 16] dense,dense = dense(seed=2)
temp %ax: f32[512, 64] dense,dense
temp %h: f32[512, 16] dense,dense
result %y: f32[512, 16] dense,dense
region @aggregate { %ax[i, j] = sum(k) %a[i, k] * %x[k, j] }
region @combine { %h[i, l] = sum(j) %ax[i, j] * %w[j, l] }
region @activate { %y[i, l] = relu(%h[i, l]) }
"""


DECODE = """fuseflow 1
input %q: f32[2, 1, 64] dense,dense,dense = dense(seed=1)
input %k: f32[2, 1024, 64] dense,dense,dense = dense(seed=2)
input %v: f32[2, 1024, 64] dense,dense,dense = dense(seed=3)
temp %s: f32[2, 1, 1024] dense,dense,dense
temp %m: f32[2, 1] dense,dense
temp %e: f32[2, 1, 1024] dense,dense,dense
temp %z: f32[2, 1] dense,dense
temp %p: f32[2, 1, 1024] dense,dense,dense
result %y: f32[2, 1, 64] dense,dense,dense
region @s { %s[h, i, j] = sum(d) %q[h, i, d] * %k[h, j, d] }
region @p {
  %m[h, i] = max(j) %s[h, i, j]
  %e[h, i, j] = exp(%s[h, i, j] - %m[h, i])
  %z[h, i] = sum(j) %e[h, i, j]
  %p[h, i, j] = %e[h, i, j] / %z[h, i]
}
region @y { %y[h, i, c] = sum(j) %p[h, i, j] * %v[h, j, c] }
"""


def is_type(value, name):
    if name in ("integer", "number"):
        kinds = (int,) if name == "integer" else (int, float)
        return isinstance(value, kinds) and not isinstance(value, bool)
    return isinstance(value, TYPES[name])


def errors(value, schema, at="$"):
    """Yields what is wrong with a value."""
    for keyword, wanted in schema.items():
        if keyword in NOTES or (keyword in ("required", "properties", "items") and not isinstance(value, (dict, list))):
            continue
        if keyword == "$ref":
            yield from errors(value, SCHEMA["$defs"][wanted.removeprefix("#/$defs/")], at)
        elif keyword == "type":
            if not is_type(value, wanted):
                yield f"{at}: {value!r} is no {wanted}"
                return
        elif keyword in ("const", "enum"):
            if value not in (wanted if keyword == "enum" else [wanted]):
                yield f"{at}: {value!r} is not {wanted}"
        elif keyword in ("minimum", "exclusiveMinimum"):
            if value < wanted or (keyword == "exclusiveMinimum" and value == wanted):
                yield f"{at}: {value} is too small"
        elif keyword in ("minItems", "maxItems"):
            if (len(value) < wanted) if keyword == "minItems" else (len(value) > wanted):
                yield f"{at}: {len(value)} items"
        elif keyword == "required":
            yield from (f"{at}: lacks {name}" for name in wanted if name not in value)
        elif keyword == "properties":
            for name in wanted:
                if name in value:
                    yield from errors(value[name], wanted[name], f"{at}.{name}")
        elif keyword == "additionalProperties":
            assert wanted is False
            yield from (f"{at}: unknown {name}" for name in value if name not in schema["properties"])
        elif keyword == "items":
            for i, item in enumerate(value):
                yield from errors(item, wanted, f"{at}[{i}]")
        elif keyword == "anyOf":
            if all(any(True for _ in errors(value, one, at)) for one in wanted):
                yield f"{at}: fits none of {len(wanted)}"
        else:
            raise SystemExit(f"plan.schema.json uses {keyword}, which tests/cluster/plan.py does not know")


def agrees(document):
    """Whether the document is valid; both validators must say the same."""
    valid = not list(errors(document, SCHEMA))
    try:
        import jsonschema
    except ImportError:
        return valid
    other = jsonschema.Draft202012Validator(SCHEMA).is_valid(document)
    assert other == valid, f"jsonschema says {other}: {list(errors(document, SCHEMA))}"
    return valid


def check_sums(planned):
    """Quantities that follow from each other."""
    plan = planned["plan"]
    sizes, tile, cluster = planned["chain"]["extents"], plan["tile"], plan["cluster"]
    steps = {loop["dimension"]: loop["steps"] for loop in plan["loops"]}
    steps |= {axis["dimension"]: axis["clusters"] for axis in plan["spatial"]}
    for d in "mnkl":
        blocks = 1 if d == "k" and plan["way"] == "split" else cluster[d]
        assert steps[d] * blocks * tile[d] == sizes[d], (d, steps[d], blocks, tile[d], sizes[d])
    clusters = 1
    for axis in plan["spatial"]:
        clusters *= axis["clusters"]
    assert plan["clusters"] == clusters
    cores = clusters * cluster["cores"]
    assert cluster["cores"] == cluster["m"] * cluster["n"] * cluster["k"]
    assert sum(c["all_bytes"] for c in plan["copies"]) == plan["bytes"]["links"]
    assert all(c["bytes"] * c["times"] * cores == c["all_bytes"] for c in plan["copies"])
    assert all((c["type"] == "partial") == (c["kind"] in PARTIAL) for c in plan["copies"])
    loaded = sum(load["bytes"] * load["times"] for load in plan["loads"]) * cores
    assert plan["bytes"]["global_read"] >= loaded
    fused = [c for c in (planned["cycles"]["linked"], planned["cycles"]["one_core"]) if c]
    assert plan["cycles"] == min(fused)
    assert planned["cycles"][planned["chosen"]] == min(c for c in planned["cycles"].values() if c)


def check_rows(planned, program):
    """Checks the plan of a kernel of rows."""
    if planned["plan"] is None:
        assert not planned["chosen"]
        return
    plan, cycles = planned["plan"], planned["cycles"]
    for axis in [plan["rows"], *plan["widths"]]:
        covered = axis["tile"] * axis["tiles"]
        assert axis["size"] <= covered < axis["size"] + axis["tile"] * axis["cores"], axis
    nodes = [node for loop in plan["loops"] for node in loop["nodes"]]
    assert nodes.count("tile_multiply") == planned["products"]
    assert nodes.count("reduce") == planned["reductions"]
    assert nodes.count("tile_store") == len(planned["results"])
    buffers = {load["buffer"]: load["bytes"] * load["copies"] for load in plan["loads"]}
    places = sum(place["bytes"] * place["tiles"] for place in plan["held"]["places"])
    assert plan["held"]["scratchpad"] > sum(buffers.values()) + places
    assert not planned["chosen"] or cycles["rows"] < cycles["apart"]
    assert planned["chosen"] == (f'plan cycles = "{cycles["rows"]}"' in program)


def check_kernel(kernel, program):
    """Checks the plan of a kernel in the program."""
    axes = {axis["name"]: axis for axis in kernel["dimensions"]}
    for axis in axes.values():
        assert axis["size"] <= axis["tile"] * axis["tiles"] < axis["size"] + axis["tile"], axis
    walk, element = kernel["steps_of_k"], 4
    assert walk["walked"] <= walk["of"]
    buffers = sum(load["bytes"] * load["copies"] * max(load["gathered"], 1) for load in kernel["loads"])
    columns = axes["l"] if "tile_multiply" in kernel["after"] else axes["n"]
    rows = axes["m"]["tile"]
    stored = kernel["held"]["scratchpad"] - buffers
    parts = axes["k"]["cores"]
    if parts > 1:  # a share is stored; what comes from the others
        share = rows * columns["tile"] * element // parts
        message = -(-rows * element // 16) * 16  # a number for each row, in copies of 16 bytes
        reduced = kernel["after"].count("all_reduce") * message
        assert kernel["after"].count("reduce_scatter") == 1
        stored -= (parts - 1) * (share + reduced) + share - rows * columns["tile"] * element
    assert stored in (rows * element, rows * columns["tile"] * element), (stored, kernel)
    assert f'region @{kernel["region"]} {{' in program
    assert (f'plan cycles = "{kernel["cycles"]}"' in program) == (kernel["kind"] != "kernel")


def check_kernels(tools, words, kinds, text=GRAPH):
    """The kernels of a program."""
    document, program = run(tools, words, text.encode())
    assert agrees(document), list(errors(document, SCHEMA))
    assert [kernel["kind"] for kernel in document["kernels"]] == kinds, document["kernels"]
    for kernel in document["kernels"]:
        check_kernel(kernel, program)
    wrong = copy.deepcopy(document)
    wrong["kernels"][0].pop("held")
    assert not agrees(wrong)


def run(tools, words, stdin=b""):
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "plan.json")
        done = subprocess.run([tools / "fuseflow-cluster", "--plan", path, *words], input=stdin, capture_output=True)
        assert done.returncode == 0, done.stderr.decode()
        return json.loads(path.read_text()), done.stdout.decode()


def check_refusals(document):
    """A validator that accepts everything would pass the rest."""
    def broken(change):
        other = copy.deepcopy(document)
        change(other["chains"][0])
        return not agrees(other)
    assert broken(lambda c: c.pop("chosen"))
    assert broken(lambda c: c["chain"].update(kind="attention"))
    assert broken(lambda c: c["plan"].update(more=1))
    assert broken(lambda c: c["plan"]["tile"].update(m=0))
    assert broken(lambda c: c["plan"]["loops"].append({"dimension": "x", "steps": 1}))
    assert broken(lambda c: c["chain"]["tensors"].update(b=[]))
    assert broken(lambda c: c.update(plan=3))


FREE = [word for setting in ("links.multicast=false", "core.barrier_cycles=0", "links.barrier_cycles.2=0",
                             "core.vector_operations_per_cycle=0", "core.special_operations_per_cycle=0")
        for word in ("--machine-set", setting)]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tools", type=pathlib.Path, default=ROOT / "build" / "bin")
    tools = parser.parse_args().tools
    seen = set()
    for words in (["--workload", "G1", "--bias", "--residual"],
                  ["--gemm-chain", "128,512,512,2048,relu", "--effort", "65536", "--machine-set", "reconfiguration_cycles=0"],
                  ["--workload", "S8", "--effort", "1"],
                  ["--workload", "S8", "--effort", "1", "--machine-set", "l2.capacity_bytes=0"],
                  # What plans are without multicast and barriers: other shapes of clusters. With other registers than
                  # the chip has, its rules do not count, and a gated chain has its branches on two cores.
                  *([*words, *FREE] for words in (["--workload", "G1"], ["--workload", "S8", "--effort", "1"],
                                                  ["--workload", "S8", "--effort", "1", "--machine-set",
                                                   "l2.capacity_bytes=0", "--machine-set",
                                                   "core.register_bytes=131072"])),
                  ["--gemm-chain", "64,512,64,512,none", "--machine-set", "core.register_bytes=24576",
                   "--machine-set", "core.scratchpad_bytes=40000"]):
        document, _ = run(tools, words)
        assert agrees(document), list(errors(document, SCHEMA))
        for planned in document["chains"]:
            check_sums(planned)
            seen |= {c["kind"] for c in planned["plan"]["copies"]} | {planned["chosen"], planned["plan"]["way"]}
        check_refusals(document)
    assert seen >= {"exchange_partial", "exchange_gather", "shuffle", "folded", "split"}, seen
    document, program = run(tools, [], LAYER.encode())
    assert agrees(document), list(errors(document, SCHEMA))
    # Both chains are one kernel of rows, and no chains any more.
    assert [planned["products"] for planned in document["rows"] if planned["chosen"]] == [4], document["rows"]
    assert document["chains"] == []
    for planned in document["rows"]:
        check_rows(planned, program)
    # Wider, they stay chains.
    document, _ = run(tools, ["--effort", "65536"], LAYER.replace("128", "2048").replace("[32,", "[256,").encode())
    assert agrees(document), list(errors(document, SCHEMA))
    assert [c["chain"]["tensors"]["d"] for c in document["chains"]] == ['a "quoted" name'] * 2
    assert sorted(c["chain"]["name"] for c in document["chains"]) == ["e", "y"]
    for planned in document["chains"]:
        check_sums(planned)
    document, program = run(tools, ["--machine-set", "core.scratchpad_bytes=40000"],
                            LAYER.replace("temp %e", "result %e").encode())
    assert agrees(document), list(errors(document, SCHEMA))
    for planned in document["rows"]:
        check_rows(planned, program)
    document, _ = run(tools, [], b"fuseflow 1\ninput %x: f32[4] dense = uniform(density=1,seed=1)\n"
                                 b"result %y: f32[4] dense\nregion @y { %y[i] = relu(%x[i]) }\n")
    assert agrees(document) and document["chains"] == []
    check_kernels(tools, ["--strategy=tiles"], ["gathered product and one after it"])
    check_kernels(tools, ["--strategy=none"], ["gathered product", "kernel", "kernel"])
    check_kernels(tools, [], ["online softmax"], DECODE)
    # A product without a value loads nothing.
    empty = GRAPH.replace("power_law(edges=600,", "uniform(density=0,")
    document, _ = run(tools, ["--strategy=none"], empty.encode())
    assert agrees(document), list(errors(document, SCHEMA))
    assert document["kernels"][0]["bytes"]["global_read"] == 0
    print("plans as the schema says")


if __name__ == "__main__":
    sys.exit(main())
