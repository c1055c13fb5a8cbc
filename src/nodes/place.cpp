// Where inputs lie (InputPlace): what several kinds share.
#include "nodes/rules.h"

namespace fuseflow {

InputPlace place::all_same(const Node& node, size_t input) {
  size_t first = 0;
  while (node.inputs[first].is_immediate()) ++first;
  return input == first ? InputPlace{} : InputPlace{InputPlace::Relation::same, first};
}

InputPlace place::around_last(const Node& node, size_t input) {
  const size_t last = node.inputs.size() - 1;
  return input == last ? InputPlace{} : InputPlace{InputPlace::Relation::around, last};
}

}  // namespace fuseflow
