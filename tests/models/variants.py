"""Which cases of testdata/models are other exports of the same model: the same program after import."""

import re

# How a case that is another export of the same model ends (scripts/README.md).
VARIANT = re.compile(r"(_(op\d+|nofold|dynamic|functions|initinputs|double|sparse|sparseconst|external|typed|f16|bf16|i8|ir10))+$")


def is_variant(name, names):
    """Whether `name` is another export of a model that is among `names` too."""
    base = VARIANT.sub("", name)
    return base != name and base in names
