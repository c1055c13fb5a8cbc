// Facts that a program states (`facts`, `assume`), compared with the values they are stated of.
#pragma once

#include "ir/program.h"
#include "reference/reference.h"

namespace fuseflow {

/// Throws Error(unfinished) if the data of an input or constant, or what the reference computes for
/// another tensor, contradict its facts: tensor, coordinates, value, and how to go on.
void assert_facts(const Tensor& tensor, const Storage& storage);
void assert_facts(const Tensor& tensor, const Value& value);

}  // namespace fuseflow
