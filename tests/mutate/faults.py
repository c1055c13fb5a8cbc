"""Faults: small changes of C++ sources, found by looking at tokens. Each is switchable where its text allows it."""

import dataclasses
import random
import re

# Statements whose texts people read: messages, notes, errors. Their words are not what the suites pin.
MESSAGES = re.compile(r"\b(throw|Error\(|report\(|note\(|broken\(|error_at\(|fail\(|fputs|fprintf|assert|static_assert|"
                      r"reserve\(|#|using |template|operator\b|case |default:|enum |friend |\w+\(\) const = 0)")
INTEGER = re.compile(r"(?<![\w.'])(\d+)(U|UL|ULL|LL)?(?![\w.'])")
REAL = re.compile(r"(?<![\w.])(\d+\.\d+|\d+e-?\d+|\d+\.\d+e-?\d+)(F|f)?(?![\w.])")
BINARY = re.compile(r" (\+|-|\*|/|<|>|<=|>=|==|!=|&&|\|\|)(?=[ \n])")
EXTREME = re.compile(r"\bstd::(min|max)(<([\w:]+)>)?(?=\()")
TRUTH = re.compile(r"\b(true|false)\b")
CONDITION = re.compile(r"\bif \(")
SWAPPED = {"<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "==", "+": "-", "-": "+", "*": "+", "/": "*"}
CODES = {"<=": "l", ">=": "g", "==": "=", "!=": "!"}


@dataclasses.dataclass
class Fault:
    """`text[start:end]` of a file becomes `after`; `switched` (with {id}) does so at run time, None if it cannot."""
    path: str
    start: int
    end: int
    line: int
    kind: str
    before: str
    after: str
    switched: str
    id: int = -1
    note: str = ""

    def place(self):
        return f"{self.path}:{self.line}"


def masked(text):
    """The text with comments, strings, preprocessor lines and messages blanked, position by position."""
    pattern = re.compile(r'//[^\n]*|/\*.*?\*/|R"\((.*?)\)"|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])\'|^[ ]*#[^\n]*', re.S | re.M)
    blank = lambda m: re.sub(r"[^\n]", "~", m[0])
    text = pattern.sub(blank, text)
    out, start = [], 0
    for end in [m.end() for m in re.finditer(r"[;{}]", text)] + [len(text)]:  # about a statement each
        piece = text[start:end]
        out.append(re.sub(r"[^\n]", "~", piece) if MESSAGES.search(piece) else piece)
        start = end
    return "".join(out)


def closing(text, position):
    """The position of the parenthesis that closes the one at `position`."""
    depth = 0
    for i in range(position, len(text)):
        depth += {"(": 1, ")": -1}.get(text[i], 0)
        if depth == 0:
            return i
    return -1


def escaped(text):
    """The text with braces doubled, as str.format() takes it."""
    return text.replace("{", "{{").replace("}", "}}")


def other_number(value, rng):
    """A number near an integer literal, or ten times or a tenth of it."""
    choices = [value + 1] + ([value - 1] if value > 0 else []) + ([value * 10, value // 10] if value > 8 else [])
    return rng.choice(choices)


def candidates(path, text, rng):
    """Every fault that can be put into a source; where there is a choice, `rng` makes it."""
    code = masked(text)

    def fault(start, end, kind, after, switched):
        line = text.count("\n", 0, start) + 1
        return Fault(path, start, end, line, kind, text[start:end], after, switched)

    def replaced(start, end, kind, after):
        return fault(start, end, kind, after, f"(fuseflow_mutants::on({{id}}) ? {after} : {text[start:end]})")

    for m in INTEGER.finditer(code):
        after = f"{other_number(int(m[1]), rng)}{m[2] or ''}"
        yield replaced(m.start(), m.end(), "constant", after)
    for m in REAL.finditer(code):
        factor = rng.choice(["2", "0.5F" if m[2] else "0.5"])
        zero = float(m[0].rstrip("fF")) == 0  # no factor changes it
        yield replaced(m.start(), m.end(), "constant", f"({m[0]} + 1)" if zero else f"({m[0]} * {factor})")
    for m in TRUTH.finditer(code):
        yield replaced(m.start(), m.end(), "constant", "false" if m[0] == "true" else "true")
    for m in EXTREME.finditer(code):
        least = "true" if m[1] == "min" else "false"
        other = m[0].replace(m[1], "max" if m[1] == "min" else "min")
        kind = f"ExtremeOf<{m[3]}, {least}>" if m[3] else f"Extreme<{least}>"
        yield fault(m.start(), m.end(), "min and max", other, f"fuseflow_mutants::{kind}{{{{{{id}}}}}}")
    for m in BINARY.finditer(code):
        operator, start, end = m[1], m.start(1), m.end(1)
        if code[m.start() - 1] in "(,=~" or code[:m.start()].rstrip().endswith("return"):
            continue  # a unary operator
        if operator in ("&&", "||"):
            tag, bit = "fuseflow_mutants::Dropped{{{id}}}", "|" if operator == "&&" else "&"
            yield fault(start, end, "dropped term", f"{operator} {'true' if bit == '|' else 'false'} {bit}",
                        f"{operator} {tag} {bit}")
            continue
        drop = operator in "+-*" and rng.random() < 0.5
        other = SWAPPED[operator]
        code_of = "0" if drop else CODES.get(other, other)
        yield fault(start, end, "dropped term" if drop else "operator", "+ 0 *" if drop else other,
                    f"{operator} fuseflow_mutants::Other<'{code_of}'>{{{{{{id}}}}}} {operator}")
    for m in CONDITION.finditer(code):
        opening = m.end() - 1
        end = closing(code, opening)
        inside = code[opening + 1:end]
        if end < 0 or ";" in inside or "~" in inside or re.search(r"[^=!<>]=[^=]", inside):
            continue
        cond = text[opening + 1:end]
        yield fault(opening + 1, end, "negated", f"!({cond})",
                    f"fuseflow_mutants::on({{id}}) != static_cast<bool>({escaped(cond)})")


def draw(sources, seeds, count):
    """`count` faults a seed of `sources` (path -> text), no two in one statement's line, every place as likely as any other."""
    drawn, lines = [], set()
    for seed in seeds:
        rng = random.Random(seed)
        every = [f for path, text in sorted(sources.items()) for f in candidates(path, text, rng)]
        rng.shuffle(every)
        wanted = len(drawn) + count
        for fault in every:
            lines_of = {(fault.path, line) for line in range(fault.line, fault.line + fault.before.count("\n") + 1)}
            if len(drawn) < wanted and not lines & lines_of:
                lines |= lines_of
                drawn.append(fault)
    return drawn


def named(path, sources):
    """Faults of a file of lines `FILE | text with one ⟦before⟧ | after`."""
    faults = []
    for line in path.read_text(encoding="utf-8").splitlines():
        if not line.strip() or line.startswith("#"):
            continue
        name, marked, after = (part.strip() for part in line.split(" | "))
        before = re.search(r"\[\[(.*)\]\]", marked)
        text, plain = sources[name], marked.replace("[[", "", 1).replace("]]", "", 1)
        if text.count(plain) != 1:
            raise SystemExit(f"{path.name}: {name} has {text.count(plain)} times: {plain}")
        start = text.index(plain) + before.start()
        end = start + len(before[1])
        faults.append(Fault(name, start, end, text.count("\n", 0, start) + 1, "named", before[1], after,
                            "(fuseflow_mutants::on({id}) ? (" + escaped(after) + ") : (" + escaped(before[1]) + "))"))
    return faults
