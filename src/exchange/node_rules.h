#pragma once

#include "exchange/node_reader.h"

namespace fuseflow {

/// The node that an operation means, and what it gives.
void apply_rule(NodeReader& reader, const comal::Operation& operation);

/// An operation of no kind of Comal's: a whole node (extension_rule.cpp).
void read_extension(NodeReader& reader, const comal::Extension& extension);

}  // namespace fuseflow
