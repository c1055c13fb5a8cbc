"""GPT-3 Small with a BigBird mask at full size: bigbird.py with other defaults.

Sequence 1024, width 768, 12 heads, feed-forward width 3072, block 64; --layers 12 for the whole.
"""
from models import bigbird


def full(make):
    def build(o):
        o.seq = o.seq or 1024
        return make(o)
    return build


VARIANTS = {name: (full(make), text) for name, (make, text) in bigbird.VARIANTS.items()}
