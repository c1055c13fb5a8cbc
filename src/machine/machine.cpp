#include "machine/machine.h"

namespace fuseflow {

std::string_view unit_class_name(UnitClass unit) {
  static constexpr std::array<std::string_view, kUnitClasses> kNames = {
      "root",   "scan",       "locate", "repeat", "join",  "array", "alu",
      "reduce", "accumulate", "filter", "buffer", "write", "split"};
  return kNames[static_cast<size_t>(unit)];
}

}  // namespace fuseflow
