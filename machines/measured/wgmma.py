#!/usr/bin/env python3
"""Writes wgmma.h: the warp group's matrix products of 64 x N x 16 (PTX ISA, wgmma.mma_async), whose operands the
assembler wants listed one by one."""

HEAD = """// Written by wgmma.py: products of a warp group, 64 x N x 16, f16 to f32.
#pragma once

#include <cstdint>

// A matrix in the scratchpad: rows of 128 bytes, groups of eight rows 1024 bytes apart, swizzled over 128 bytes (PTX
// ISA, "Matrix descriptor"): address, leading and stride offset in units of 16 bytes, mode 1 in bits 62 and 63.
__device__ inline uint64_t scratchpad_matrix(unsigned address) {
  return static_cast<uint64_t>((address & 0x3ffff) >> 4) | (1ull << 16) | (64ull << 32) | (1ull << 62);
}

template <int N>
__device__ void multiply_scratchpad(float (&d)[N / 2], uint64_t left, uint64_t right);
template <int N>
__device__ void multiply_registers(float (&d)[N / 2], const unsigned (&a)[4], uint64_t right);

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
"""


def product(columns, registers):
    count = columns // 2
    results = ", ".join(f"%{i}" for i in range(count))
    name = "registers" if registers else "scratchpad"
    arguments = "const unsigned (&a)[4]" if registers else "uint64_t left"
    left = "{" + ", ".join(f"%{count + i}" for i in range(4)) + "}" if registers else f"%{count}"
    right = f"%{count + (4 if registers else 1)}"
    flags = "add, 1, 1, 0" if registers else "add, 1, 1, 0, 0"
    inputs = [f'"r"(a[{i}])' for i in range(4)] if registers else ['"l"(left)']
    inputs.append('"l"(right)')
    outputs = ", ".join(f'"+f"(d[{i}])' for i in range(count))
    return f"""template <>
__device__ void multiply_{name}<{columns}>(float (&d)[{count}], {arguments}, uint64_t right) {{
  asm volatile(
      "{{.reg .pred add;\\nsetp.ne.b32 add, 1, 0;\\n"
      "wgmma.mma_async.sync.aligned.m64n{columns}k16.f32.f16.f16 {{{results}}}, {left}, {right}, {flags};}}"
      : {outputs}
      : {", ".join(inputs)});
}}
"""


if __name__ == "__main__":
    print(HEAD)
    for columns in (8, 16, 32, 64, 128, 256):
        for registers in (False, True):
            print(product(columns, registers))
    print("#endif")
