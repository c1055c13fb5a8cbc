"""Small planned programs as text, one region each, with data of small whole numbers, so that sums are exact."""

import random
import struct


def write_npy(path, shape, seed, kind, there=None):
    """Whole numbers from -2 to 2 as f32; 0 and 1 for booleans, from 0 on for unsigned ones. There: 0 where it says that nothing is."""
    least, most = {"bool": (0, 1), "u8": (0, 2)}.get(kind, (-2, 2))
    count = 1
    for extent in shape:
        count *= extent
    draw = random.Random(seed)
    values = [float(draw.randint(least, most)) for _ in range(count)]
    if there:
        values = [x if there(*divmod(i, shape[-1])) else 0.0 for i, x in enumerate(values)]
    write_values(path, shape, values)


def write_values(path, shape, values):
    header = "{'descr': '<f4', 'fortran_order': False, 'shape': (%s,), }" % ", ".join(map(str, shape))
    header += " " * (-(len(header) + 11) % 64) + "\n"
    path.write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + struct.pack(f"<{len(values)}f", *values))


SIZES = {"f8e4m3": 1, "f8e5m2": 1, "f16": 2, "bf16": 2, "f32": 4}


def of_other_size(kind, element):
    """What a load or store says of a tensor whose elements have another size than the graph's."""
    return f" bytes={SIZES[kind]}" if kind and SIZES[kind] != SIZES[element] else ""


class Plan:
    """A region of a program: its tensors, statements and graph."""

    def __init__(self, name, element="f16"):
        self.name, self.tensors, self.files, self.statements, self.graph = name, [], [], [], ""
        self.element = element  # of tensors whose type is not said

    def tensor(self, role, name, shape, kind=None, fill=None, there=None):
        full = f"{self.name}_{name}"
        dims = ",".join(["dense"] * len(shape))
        source = ""
        if role in ("input", "const"):
            source = f' = file("{full}.npy")'
            self.files.append((f"{full}.npy", shape, kind or self.element, there))
        self.tensors.append(f"{role} %{full}: {kind or self.element}[{', '.join(map(str, shape))}] {dims}{f' fill({fill})' if fill else ''}{source}")
        return f"%{full}"


def index(name, tiles, block, size, cluster, digits):
    return f"    index {name}: {tiles} block={block} size={size} cluster={cluster} digits=[{digits}]\n"


def steps_text(lists):
    """`open` of a graph: of each tile of rows the ranges of steps that it takes."""
    return f" open=[{'; '.join(', '.join(f'{a}:{b}' for a, b in ranges) for ranges in lists)}]" if lists else ""


def chain(name, size, tile, cluster, loops, gated=None, copies=2, held=None, residual=False, result=None, element="f16", stays=False,
          weights=None, turned=False, linear=False):
    """E = relu(A B) D, or relu(A Bg) * (A Bu) D; linear: A B D. size, tile, cluster: m, n, k, l. stays: slices of C, over steps of l.

    weights: their type; turned: they lie with what is summed consecutive. Elements of one byte have no whole numbers beyond a few: C is
    min(relu(A B), 2), or that by the sign of A Bu.
    """
    p = Plan(name, element)
    small = SIZES[element] == 1
    m, n, k, l = size
    split = gated == "split"
    shared = [cluster[0], cluster[1], 1 if split else cluster[2], cluster[3]]
    tiles = [-(-s // (t * c)) * c for s, t, c in zip(size, tile, shared)]
    x = p.tensor("input", "x", [m, k])
    b = [p.tensor("const", f"b{i}", [n, k] if turned else [k, n], weights) for i in range(2 if gated else 1)]
    at_b, at_d = ("[j, k]", "[o, j]") if turned else ("[k, j]", "[j, o]")
    h = [p.tensor("temp", f"h{i}", [m, n]) for i in range(2 if gated else 1)]
    c = None if linear else p.tensor("temp", "c", [m, n])
    d = p.tensor("const", "d", [l, n] if turned else [n, l], weights)
    r = p.tensor("input", "r", [m, l]) if residual else None
    e = p.tensor("temp", "e", [m, l]) if residual else None
    y = p.tensor("result", "y", [m, l], result)
    for i, weight in enumerate(b):
        p.statements.append(f"{h[i]}[i, j] = sum(k) {x}[i, k] * {weight}{at_b}")
    up = f"sign({h[-1]}[i, j])" if small else f"{h[-1]}[i, j]"
    if not linear:
        p.statements.append(f"{c}[i, j] = " + (f"min(relu({h[0]}[i, j]), 2)" if small else f"relu({h[0]}[i, j])") + (f" * {up}" if gated else ""))
    p.statements.append(f"{e or y}[i, o] = sum(j) {h[0] if linear else c}[i, j] * {d}{at_d}")
    if residual:
        p.statements.append(f"{y}[i, o] = {e}[i, o] + {r}[i, o]")
    g = index("m", tiles[0], tile[0], m, cluster[0], f"i:{m}") + index("n", tiles[1], tile[1], n, cluster[1], f"j:{n}")
    g += index("k", tiles[2], tile[2], k, cluster[2], f"k:{k}") + index("l", tiles[3], tile[3], l, cluster[3], f"o:{l}")
    g += f"    tiles [{loops}] bytes={SIZES[element]}{f' way={gated}' if gated else ''}\n    phase {{\n"
    g += f"      $a: val<m,k>[m,k] = tile_load {x}[i, k] capacity={copies}\n"
    parts = []
    for i, weight in enumerate(b):
        branch = f" branch={i}" if split else ""
        g += f"      $b{i}: val<k,n>[k,n] = tile_load {weight}{at_b} capacity={copies}{branch}\n"
        g += f"      $p{i}: val<m,n>[m,n] = tile_multiply ($a, $b{i}){branch}\n"
        parts.append(f"$p{i}")
    if cluster[2] > 1:
        sums = [f"$s{i}" for i in range(len(parts))]
        g += f"      {', '.join(s + ': val<m,n>[m,n]' for s in sums)} = exchange ({', '.join(parts)})\n"
        parts = sums
    last = parts[0]
    if not linear:
        g += f"      $c: val<m,n>[m,n] = map relu ({last})\n"
        last = "$c"
    if small:
        g += "      $few: val<m,n>[m,n] = map min ($c, 2)\n"
        last = "$few"
    if gated:
        up = parts[1]
        if small:
            g += f"      $sign: val<m,n>[m,n] = map sign ({up})\n"
            up = "$sign"
        g += f"      $cg: val<m,n>[m,n] = map mul ({last}, {up})\n"
        last = "$cg"
    if cluster[2] > 1:
        g += f"      $all: val<m,n>[m,n] = gather ({last})\n"
        last = "$all"
    bytes_held = (held or 1) * tile[0] * tile[1] * SIZES[element]
    g += f"      $held: val<m,n>[m,n] = tile_hold ({last}) held=[0, {bytes_held}, 0, 0]\n"
    last = "$held"
    if cluster[3] > cluster[2]:
        g += f"      $slice: val<m,n>[m,n] = shuffle ({last}){f' capacity={cluster[3] // cluster[2] - 1}' if stays else ''}\n"
        last = "$slice"
    g += f"      $d: val<n,l>[n,l] = tile_load {d}{at_d} capacity={copies}\n"
    g += f"      $e: val<m,l>[m,l] = tile_multiply ({last}, $d) capacity=1\n"
    last = "$e"
    if cluster[1] * cluster[2] > cluster[3]:
        g += f"      $e_sum: val<m,l>[m,l] = reduce_scatter ({last})\n"
        last = "$e_sum"
    if residual:
        g += f"      $r: val<m,l>[m,l] = tile_load {r}[i, o]\n      $y: val<m,l>[m,l] = map add ({last}, $r)\n"
        last = "$y"
    g += f"      tile_store {y}[i, o] ({last}){of_other_size(result, element)}\n    }}\n"
    p.graph = g
    return p


def product(name, size, tile, cluster_m=1, depth=1, adders=1, batches=1, bias=False, by_columns=False, element="f16", steps=None, weights=None,
            result=None):
    """Y = A X (+ bias), of each element of a batch. size, tile: m, n, k. steps: those of each tile of rows; nothing is in others."""
    p = Plan(name, element)
    m, n, k = size
    batch = batches > 1
    before = [batches] if batch else []
    h = "h, " if batch else ""
    there = steps and (lambda i, j: any(begin <= j // tile[2] < end for begin, end in steps[i // tile[0]]))
    a = p.tensor("input", "a", before + [m, k], there=there)
    x = p.tensor("const", "x", before + ([n, k] if by_columns else [k, n]), weights)
    v = p.tensor("const", "v", [n], "f32") if bias else None
    y = p.tensor("result", "y", before + [m, n], result)
    at_x = f"{x}[{h}{'j, k' if by_columns else 'k, j'}]"
    p.statements.append(f"{y}[{h}i, j] = sum(k) {a}[{h}i, k] * {at_x}" + (f" + {v}[j]" if bias else ""))
    tiles = [-(-s // t) for s, t in zip(size, tile)]
    g = index("m", tiles[0], tile[0], m, cluster_m, f"i:{m}") + index("n", tiles[1], tile[1], n, 1, f"j:{n}")
    g += index("k", tiles[2], tile[2], k, depth, f"k:{k}")
    g += index("g", batches, 1, batches, 1, f"h:{batches}" if batch else "one_g:1")
    g += f"    tiles [] bytes={SIZES[element]}{steps_text(steps)}\n    phase {{\n"
    g += f"      $a: val<m,k>[m,k] = tile_load {a}[{h}i, k] capacity=2\n"
    g += f"      $x: val<k,n>[k,n] = tile_load {at_x} capacity=2\n      $c: val<m,n>[m,n] = tile_multiply ($a, $x)\n"
    last = "$c"
    if depth > 1:
        g += "      $sum: val<m,n>[m,n] = reduce_scatter ($c)\n"
        last = "$sum"
    if bias:
        g += f"      $v: val<n>[n] = tile_load {v}[j] bytes=4 capacity=2\n      $y: val<m,n>[m,n] = map add ({last}, $v)\n"
        last = "$y"
    adds = f" capacity={adders}" if adders > 1 else ""
    g += f"      tile_store {y}[{h}i, j] ({last}){adds}{of_other_size(result, element)}\n    }}\n"
    p.graph = g
    return p


def reduction(name, rows, columns, tile, kind):
    """r = kind over a row of x * 2, plus 1."""
    p = Plan(name)
    x = p.tensor("input", "x", [rows, columns], "f32")
    r = p.tensor("result", "r", [rows], "f32")
    p.statements.append(f"{r}[i] = {kind}(j) (%{name}_x[i, j] * 2) + 1")
    g = index("m", -(-rows // tile), tile, rows, 1, f"i:{rows}") + index("n", 1, 1, 1, 1, "one_n:1")
    g += index("k", 2, -(-columns // 2), columns, 1, f"j:{columns}") + index("g", 1, 1, 1, 1, "one_g:1")
    start = "-inf" if kind == "max" else "0"
    g += f"    tiles [] bytes=4\n    phase {{\n      $x: val<m,k>[m,k] = tile_load {x}[i, j] capacity=2\n"
    g += "      $v: val<m,k>[m,k] = map mul ($x, 2)\n"
    g += f"      $r: val<m>[m] = reduce {kind} ($v) init={start}\n      $y: val<m>[m] = map add ($r, 1)\n"
    g += f"      tile_store {r}[i] ($y)\n    }}\n"
    p.graph = g
    return p


def elements(name, rows, columns, tile, factor=3):
    """y = (x - r[row]) * factor, with columns of an outer and an inner loop."""
    p = Plan(name)
    inner = 4
    x = p.tensor("input", "x", [rows, columns // inner, inner], "f16")
    r = p.tensor("input", "r", [rows], "f32")
    y = p.tensor("result", "y", [rows, columns // inner, inner], "f16")
    p.statements.append(f"{y}[i, o, q] = ({x}[i, o, q] - {r}[i]) * {factor}")
    g = index("m", -(-rows // tile), tile, rows, 1, f"i:{rows}") + index("n", 2, -(-columns // 2), columns, 1, f"o:{columns // inner}, q:{inner}")
    g += index("k", 1, 1, 1, 1, "one_k:1") + index("g", 1, 1, 1, 1, "one_g:1")
    g += f"    tiles [] bytes=2\n    phase {{\n      $x: val<m,n>[m,n] = tile_load {x}[i, o, q] capacity=2\n"
    g += f"      $r: val<m>[m] = tile_load {r}[i] bytes=4 capacity=2\n      $d: val<m,n>[m,n] = map sub ($x, $r)\n"
    g += f"      $y: val<m,n>[m,n] = map mul ($d, {factor})\n      tile_store {y}[i, o, q] ($y)\n    }}\n"
    p.graph = g
    return p


UNARY = ["neg", "abs", "sign", "relu", "floor", "ceil", "round", "not", "isnan", "isinf", "f16", "bf16"]
BINARY = ["add", "sub", "mul", "min", "max", "eq", "ne", "lt", "le", "gt", "ge", "and", "or", "xor"]
# Not exact, or not numbers everywhere: compiled, and their values not taken.
INEXACT = ["exp", "log", "sqrt", "rsqrt", "reciprocal", "sigmoid", "tanh", "erf", "softplus", "gelu", "gelu_tanh", "silu", "hardswish",
           "sin", "cos"]


def operators(name, rows, columns, tile):
    """y = the sum of every operator of x and of masks of other types. The statement is another one: its value is not used."""
    p = Plan(name)
    x = p.tensor("input", "x", [rows, columns])
    masks = [p.tensor("input", kind, [rows, columns], kind) for kind in ("bool", "u8", "i8", "i32", "i64", "bf16")]
    y = p.tensor("result", "y", [rows, columns], "f32")
    p.statements.append(f"{y}[i, j] = {x}[i, j]" + "".join(f" + {m}[i, j]" for m in masks))
    g = index("m", -(-rows // tile), tile, rows, 1, f"i:{rows}") + index("n", 1, columns, columns, 1, f"j:{columns}")
    g += index("k", 1, 1, 1, 1, "one_k:1") + index("g", 1, 1, 1, 1, "one_g:1")
    g += f"    tiles [] bytes=2\n    phase {{\n      $x: val<m,n>[m,n] = tile_load {x}[i, j] capacity=2\n"
    for i, mask in enumerate(masks):
        size = {"bool": 1, "u8": 1, "i8": 1, "i32": 4, "i64": 8, "bf16": 2}[mask.rsplit("_", 1)[1]]
        g += f"      $m{i}: val<m,n>[m,n] = tile_load {mask}[i, j]{f' bytes={size}' if size != 2 else ''} capacity=2\n"
    made = []

    def apply(text):
        nonlocal g
        made.append(f"$v{len(made)}")
        g += f"      {made[-1]}: val<m,n>[m,n] = map {text}\n"
        return made[-1]

    taken = [apply(f"{op} ($x)") for op in UNARY]
    taken += [apply(f"{op} ($x, $m{i % len(masks)})") for i, op in enumerate(BINARY)]
    taken += [apply("leaky_relu ($x, 0.5)"), apply("mod ($x, 2)"), apply("where ($m0, $x, $m3)")]
    for text in [f"{op} ($x)" for op in INEXACT] + ["div ($x, $m3)", "pow ($m1, $x)", "elu ($x, 0.5)"]:
        taken.append(apply(f"where (0, {apply(text)}, $m2)"))
    total = taken[0]
    for i, value in enumerate(taken[1:]):
        total = apply(f"add ({total}, {value})")
    g += f"      tile_store {y}[i, j] ({total}) bytes=4\n    }}\n"
    p.graph = g
    return p


def normalised(name, rows, columns, tile):
    """y = d + sum(d * d) of each row, where d = x - max(x): two reductions, and what is between them."""
    p = Plan(name)
    x = p.tensor("input", "x", [rows, columns], "f32")
    r = p.tensor("temp", "r", [rows], "f32")
    d = p.tensor("temp", "d", [rows, columns], "f32")
    s = p.tensor("temp", "s", [rows], "f32")
    y = p.tensor("result", "y", [rows, columns], "f32")
    p.statements += [f"{r}[i] = max(j) {x}[i, j]", f"{d}[i, j] = {x}[i, j] - {r}[i]",
                     f"{s}[i] = sum(j) {d}[i, j] * {d}[i, j]", f"{y}[i, j] = {d}[i, j] + {s}[i]"]
    g = index("m", -(-rows // tile), tile, rows, 1, f"i:{rows}") + index("g", 1, 1, 1, 1, "one_g:1")
    g += index("a", 2, -(-columns // 2), columns, 1, f"j:{columns}")
    g += f"    tiles [] bytes=4\n    phase {{\n      $x: val<m,a>[m,a] = tile_load {x}[i, j] capacity=2\n"
    g += "      $r: val<m>[m] = reduce max ($x) init=-inf\n      $d: val<m,a>[m,a] = map sub ($x, $r)\n"
    g += "      $q: val<m,a>[m,a] = map mul ($d, $d)\n      $s: val<m>[m] = reduce sum ($q)\n"
    g += f"      $y: val<m,a>[m,a] = map add ($d, $s)\n      tile_store {y}[i, j] ($y)\n    }}\n"
    p.graph = g
    return p


def online(name, heads, queries, keys, size, width, tile, cluster=1, parts=1, element="f16", mask=False, band=None, steps=None,
           turned=False, step=16):
    """What attention does, with whole numbers in the place of exponentials. Statements are attention's: their values are not used.

    heads: 0: there are none. band, steps: those that are taken, of all; step: keys of one. turned: values lie with keys consecutive.
    """
    p = Plan(name, element)
    of, h = ([heads], "h, ") if heads else ([], "")
    q = p.tensor("input", "q", of + [queries, size])
    k = p.tensor("input", "k", of + [keys, size])
    v = p.tensor("input", "v", of + ([width, keys] if turned else [keys, width]))
    at_v = f"{v}[{h}c, j]" if turned else f"{v}[{h}j, c]"
    b = p.tensor("input", "b", [queries, keys], "bool", fill=1) if mask else p.tensor("input", "b", [queries, keys], "f32")
    s, u = (p.tensor("temp", n, of + [queries, keys], "f32") for n in ("s", "u"))
    r, z = (p.tensor("temp", n, of + [queries], "f32") for n in ("r", "z"))
    y = p.tensor("result", "y", of + [queries, width])
    p.statements += [f"{s}[{h}i, j] = sum(d) {q}[{h}i, d] * {k}[{h}j, d] + {b}[i, j]", f"{r}[{h}i] = max(j) {s}[{h}i, j]",
                     f"{u}[{h}i, j] = exp({s}[{h}i, j] - {r}[{h}i])", f"{z}[{h}i] = sum(j) {u}[{h}i, j]",
                     f"{y}[{h}i, c] = sum(j) ({u}[{h}i, j] / {z}[{h}i]) * {at_v}"]
    g = index("m", -(-queries // tile), tile, queries, cluster, f"i:{queries}") + index("n", 1, width, width, 1, f"c:{width}")
    g += index("k", -(-keys // step), step, keys, parts, f"j:{keys}") + index("g", heads or 1, 1, heads or 1, 1, f"h:{heads}" if heads else "one_g:1")
    taken = f" band=[{band[0]}, {band[1]}]" if band else steps_text(steps)
    g += index("l", 1, size, size, 1, f"d:{size}") + f"    tiles [] bytes={SIZES[element]}{taken}\n    phase {{\n"
    g += f"      $x: val<m,l>[m,l] = tile_load {q}[{h}i, d] capacity=2\n      $x_1: val<l,k>[l,k] = tile_load {k}[{h}j, d] capacity=2\n"
    g += f"      $s: val<m,k>[m,k] = tile_multiply ($x, $x_1) capacity=1\n      $b: val<m,k>[m,k] = tile_load {b}[i, j] "
    g += ("" if mask and SIZES[element] == 1 else f"bytes={1 if mask else 4} ") + "capacity=2\n"
    g += f"      $sb: val<m,k>[m,k] = map {'where ($b, -50, $s)' if mask else 'add ($s, $b)'}\n"
    g += "      $max: val<m>[m], $before: val<m>[m] = reduce max ($sb) init=-3.4028235e+38\n      $grown: val<m>[m] = map sub ($before, $max)\n"
    g += "      $f: val<m>[m] = map ge ($grown, -2)\n      $below: val<m,k>[m,k] = map sub ($sb, $max)\n"
    g += "      $up: val<m,k>[m,k] = map add ($below, 9)\n      $p: val<m,k>[m,k] = map relu ($up)\n"
    g += f"      $sum: val<m>[m] = reduce sum ($p, $f)\n      $x_2: val<k,n>[k,n] = tile_load {at_v} capacity=2\n"
    g += f"      $o: val<m,n>[m,n] = tile_multiply ($p, $x_2, $f)\n"
    if parts > 1:
        g += "      $largest: val<m>[m] = all_reduce max ($max)\n      $less: val<m>[m] = map sub ($max, $largest)\n"
        g += "      $scale: val<m>[m] = map ge ($less, -2)\n      $part: val<m>[m] = map mul ($sum, $scale)\n"
        g += "      $o_part: val<m,n>[m,n] = map mul ($o, $scale)\n      $sum_all: val<m>[m] = all_reduce sum ($part)\n"
        g += "      $o_all: val<m,n>[m,n] = reduce_scatter ($o_part)\n      $y: val<m,n>[m,n] = map div ($o_all, $sum_all)\n"
    else:
        g += "      $y: val<m,n>[m,n] = map div ($o, $sum)\n"
    g += f"      tile_store {y}[{h}i, c] ($y)\n    }}\n"
    p.graph = g
    return p


def rows(name, kind, sizes, tile, cluster=(1, 1), batches=1, copies=2, element="f16", weights_kind=None,
         turned=False):
    """A kernel of rows with products. sizes: rows, widths a, b, c; tile: rows, columns; cluster: rows, columns.

    layers: y = relu(x w0) w1; linear: y = (x w0) w1; gate: y = (relu(x w0) * (x w1)) w2; apart: x w0, relu(x w0) and x w1, of two widths, all stored;
    norm: h = x w0 + v, d = h - max(h), stored, y = (d + min(d)) w1; softmax: y = d + sum(d), d = x - max(x), without products.
    """
    p = Plan(name, element)
    small = SIZES[element] == 1  # what is between the products is min(.., 2), as in chain()
    m, a, b, c = sizes
    tall, wide = cluster
    h, at_h = ([batches], "h, ") if batches > 1 else ([], "")
    x = p.tensor("input", "x", h + [m, a])

    def whole(column):
        return column if wide == 1 else "$all"

    def tiles(width):
        return -(-(-(-width // tile[1])) // wide) * wide

    g = index("m", -(-(-(-m // tile[0])) // tall) * tall, tile[0], m, tall, f"i:{m}")
    g += index("g", batches, 1, batches, 1, f"h:{batches}" if h else "one_g:1")
    for letter, loop, width in zip("abc", "jkl", (a, b, c)):
        g += index(letter, tiles(width), tile[1], width, wide, f"{loop}:{width}")
    g += f"    tiles [] bytes={SIZES[element]}\n    phase {{\n      $x: val<m,a>[m,a] = tile_load {x}[{at_h}i, j] capacity={2 * tiles(a)}\n"

    def weights(number, rows, columns, at):
        loops = [dict(a="j", b="k", c="l")[at[i]] for i in (0, 2)]
        if turned:
            rows, columns, loops = columns, rows, loops[::-1]
        at_w = f"{p.tensor('const', f'w{number}', h + [rows, columns], weights_kind)}[{at_h}{', '.join(loops)}]"
        return at_w, f"$w{number}: val<{at}>[{at}] = tile_load {at_w} capacity={copies}"

    def gathered(stream):
        return f"      $all: val<m,b>[m,b] = gather ({stream})\n" if wide > 1 else ""

    if kind == "softmax":
        r, d, s = p.tensor("temp", "r", [m]), p.tensor("temp", "d", [m, a]), p.tensor("temp", "s", [m])
        y = p.tensor("result", "y", [m, a])
        p.statements += [f"{r}[i] = max(j) {x}[i, j]", f"{d}[i, j] = {x}[i, j] - {r}[i]", f"{s}[i] = sum(j) {d}[i, j]",
                         f"{y}[i, j] = {d}[i, j] + {s}[i]"]
        g += "      $r: val<m>[m] = reduce max ($x) init=-inf\n      $d: val<m,a>[m,a] = map sub ($x, $r)\n"
        g += f"      $s: val<m>[m] = reduce sum ($d)\n      $y: val<m,a>[m,a] = map add ($d, $s)\n      tile_store {y}[i, j] ($y)\n    }}\n"
        g = "".join(line + "\n" for line in g.splitlines() if not line.startswith(("    index b", "    index c")))
        p.graph = g
        return p
    w0, load0 = weights(0, a, b, "a,b")
    t0 = p.tensor("result" if kind == "apart" else "temp", "t0", h + [m, b])
    g += f"      {load0}\n      $c: val<m,b>[m,b] = tile_multiply ($x, $w0) capacity=2\n"
    p.statements.append(f"{t0}[{at_h}i, k] = sum(j) {x}[{at_h}i, j] * {w0}")
    if kind == "apart":
        w1, load1 = weights(1, a, c, "a,c")
        y0, y = p.tensor("result", "y0", h + [m, b]), p.tensor("result", "y", h + [m, c])
        g += f"      $v: val<m,b>[m,b] = map relu ($c)\n      {load1}\n      $e: val<m,c>[m,c] = tile_multiply ($x, $w1) capacity=1\n"
        g += f"      tile_store {t0}[{at_h}i, k] ($c)\n      tile_store {y0}[{at_h}i, k] ($v)\n      tile_store {y}[{at_h}i, l] ($e)\n    }}\n"
        p.statements += [f"{y0}[{at_h}i, k] = relu({t0}[{at_h}i, k])",
                         f"{y}[{at_h}i, l] = sum(j) {x}[{at_h}i, j] * {w1}"]
        p.graph = g
        return p
    if kind == "norm":
        v = p.tensor("const", "v", [b], "f32")
        r, d, s = p.tensor("temp", "r", h + [m]), p.tensor("result", "d", h + [m, b]), p.tensor("temp", "s", h + [m])
        n = p.tensor("temp", "n", h + [m, b])
        p.statements[0] += f" + {v}[k]"
        p.statements += [f"{r}[{at_h}i] = max(k) {t0}[{at_h}i, k]", f"{d}[{at_h}i, k] = {t0}[{at_h}i, k] - {r}[{at_h}i]",
                         f"{s}[{at_h}i] = min(k) {d}[{at_h}i, k]", f"{n}[{at_h}i, k] = {d}[{at_h}i, k] + {s}[{at_h}i]"]
        g += f"      $v: val<b>[b] = tile_load {v}[k] bytes=4 capacity=2\n      $h: val<m,b>[m,b] = map add ($c, $v)\n"
        g += "      $r: val<m>[m] = reduce max ($h) init=-inf\n      $d: val<m,b>[m,b] = map sub ($h, $r)\n"
        g += f"      tile_store {d}[{at_h}i, k] ($d)\n      $s: val<m>[m] = reduce min ($d) init=inf\n      $last: val<m,b>[m,b] = map add ($d, $s)\n"
        last, number = n, 1
    elif kind == "gate":
        w1, load1 = weights(1, a, b, "a,b")
        t1, n = p.tensor("temp", "t1", h + [m, b]), p.tensor("temp", "n", h + [m, b])
        p.statements += [f"{t1}[{at_h}i, k] = sum(j) {x}[{at_h}i, j] * {w1}",
                         f"{n}[{at_h}i, k] = relu({t0}[{at_h}i, k]) * {t1}[{at_h}i, k]"]
        g += f"      {load1}\n      $u: val<m,b>[m,b] = tile_multiply ($x, $w1) capacity=2\n      $v: val<m,b>[m,b] = map relu ($c)\n"
        g += "      $last: val<m,b>[m,b] = map mul ($v, $u)\n"
        last, number = n, 2
    elif kind == "linear":
        last, number = t0, 1
    else:
        n = p.tensor("temp", "n", h + [m, b])
        value = f"relu({t0}[{at_h}i, k])"
        p.statements.append(f"{n}[{at_h}i, k] = " + (f"min({value}, 2)" if small else value))
        g += f"      ${'some' if small else 'last'}: val<m,b>[m,b] = map relu ($c)\n"
        g += "      $last: val<m,b>[m,b] = map min ($some, 2)\n" if small else ""
        last, number = n, 1
    w, load = weights(number, b, c, "b,c")
    y = p.tensor("result", "y", h + [m, c])
    p.statements.append(f"{y}[{at_h}i, l] = sum(k) {last}[{at_h}i, k] * {w}")
    factor = "$c" if kind == "linear" else "$last"
    g += gathered(factor)
    g += f"      {load}\n      $y: val<m,c>[m,c] = tile_multiply ({whole(factor)}, $w{number}) capacity=1\n"
    g += f"      tile_store {y}[{at_h}i, l] ($y)\n    }}\n"
    p.graph = g
    return p


def program(plans):
    text = "fuseflow 1\nprogram \"kernels\"\n\n" + "\n".join(t for p in plans for t in p.tensors) + "\n"
    for p in plans:
        statements = "".join(f"  {s}\n" for s in p.statements)
        text += f"\nregion @{p.name} {{\n{statements}  graph {{\n{p.graph}  }}\n}}\n"
    return text
