// SAM's names of what ComalGraph's operations do.
#pragma once

#include <array>
#include <string_view>

#include "exchange/comal.pb.h"

namespace fuseflow {

struct SamType {
  std::string_view name;
  comal::Operation::OpCase operation;
};

/// Types with one form; the first row of an operation is written. Joins, arithmetic and writes have
/// rows of their own (sam_reader.cpp).
inline constexpr std::array kSamTypes = {
    SamType{"root", comal::Operation::kRoot},
    SamType{"broadcast", comal::Operation::kBroadcast},
    SamType{"fiberlookup", comal::Operation::kFiberLookup},
    SamType{"repeat", comal::Operation::kRepeat},
    SamType{"repsiggen", comal::Operation::kRepeatsig},
    SamType{"intersect", comal::Operation::kJoiner},
    SamType{"union", comal::Operation::kJoiner},
    SamType{"arrayvals", comal::Operation::kArray},
    SamType{"reduce", comal::Operation::kReduce},
    SamType{"spaccumulator", comal::Operation::kSpacc},
    SamType{"vectorreducer", comal::Operation::kSpacc},
    SamType{"crdhold", comal::Operation::kCoordHold},
    SamType{"crddrop", comal::Operation::kCoordDrop},
    SamType{"valdrop", comal::Operation::kCoordDrop},
    SamType{"fiberwrite", comal::Operation::kFiberWrite},
};

struct SamArithmetic {
  std::string_view name;
  comal::ALU::ALUOp op;
};

/// An operand that is a number is an attribute: which one it is.
struct SamConstant {
  std::string_view attribute;
  bool first = false;  ///< the first operand, else the last
};
inline constexpr std::array kSamConstants = {
    SamConstant{"const0", true},
    SamConstant{"const1"},
    SamConstant{"rb_const"},
    SamConstant{"in2"},
};

/// `add` with sub=1 is SUB. `fp_mul` is `mul`.
inline constexpr std::array kSamArithmetic = {
    SamArithmetic{"mul", comal::ALU::MUL},
    SamArithmetic{"add", comal::ALU::ADD},
    SamArithmetic{"sub", comal::ALU::SUB},
    SamArithmetic{"div", comal::ALU::DIV},
    SamArithmetic{"exp", comal::ALU::EXP},
    SamArithmetic{"sin", comal::ALU::SIN},
    SamArithmetic{"cos", comal::ALU::COS},
    SamArithmetic{"max", comal::ALU::MAX},
    SamArithmetic{"smax", comal::ALU::MAX},
    SamArithmetic{"rsqrt", comal::ALU::RSQRT},
    SamArithmetic{"sigmoid", comal::ALU::SIGMOID},
    SamArithmetic{"scalaradd", comal::ALU::SCALARADD},
    SamArithmetic{"scalarmul", comal::ALU::SCALARMUL},
    SamArithmetic{"scalardiv", comal::ALU::SCALARDIV},
};

}  // namespace fuseflow
