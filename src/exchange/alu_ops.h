// Comal's operators and ours.
#pragma once

#include <algorithm>
#include <array>

#include "exchange/comal.pb.h"
#include "graph/graph.h"
#include "ops/op.h"

namespace fuseflow {

struct AluOp {
  comal::ALU::ALUOp theirs;
  Op ours;
  bool scalar = false;  ///< the last operand is the number `scalar`
};

/// The first row of an operator is the one that is written.
inline constexpr std::array kAluOps = {
    AluOp{comal::ALU::ADD, Op::add},
    AluOp{comal::ALU::SUB, Op::sub},
    AluOp{comal::ALU::MUL, Op::mul},
    AluOp{comal::ALU::DIV, Op::div},
    AluOp{comal::ALU::EXP, Op::exp},
    AluOp{comal::ALU::SIN, Op::sin},
    AluOp{comal::ALU::COS, Op::cos},
    AluOp{comal::ALU::MAX, Op::max},
    AluOp{comal::ALU::RSQRT, Op::rsqrt},
    AluOp{comal::ALU::SIGMOID, Op::sigmoid},
    AluOp{comal::ALU::SCALARADD, Op::add, true},
    AluOp{comal::ALU::SCALARMUL, Op::mul, true},
    AluOp{comal::ALU::SCALARDIV, Op::div, true},
    AluOp{comal::ALU::ELEMMUL, Op::mul},
};

/// The row that a `map` is written as; null: Comal has no such operator.
inline const AluOp* find_alu(const Node& map) {
  const bool scalar = map.inputs.back().is_immediate();
  const auto* const row = std::find_if(kAluOps.begin(), kAluOps.end(), [&](const AluOp& known) {
    return known.ours == map.op && known.scalar == scalar;
  });
  return row == kAluOps.end() ? nullptr : row;
}

}  // namespace fuseflow
