// Comal's operators and ours.
#pragma once

#include <array>

#include "exchange/comal.pb.h"
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

}  // namespace fuseflow
