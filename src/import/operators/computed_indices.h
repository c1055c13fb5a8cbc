// Gathers and scatters whose indices the program computes: each index is compared with all places.
#pragma once

#include "import/importer.h"
#include "import/operators/scatter.h"

namespace fuseflow {

/// Whether input 1, the indices, is computed: not constant.
bool has_computed_indices(const NodeImport& node);

void gather_computed(NodeImport& node);
void gather_nd_computed(NodeImport& node);
void gather_elements_computed(NodeImport& node);
void scatter_elements_computed(NodeImport& node, Update update);
void scatter_nd_computed(NodeImport& node, Update update);

}  // namespace fuseflow
