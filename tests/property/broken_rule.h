// Which rule of the lowering is broken on purpose, to show that the property test notices. Only the
// sources that break_rules.py writes ask for it.
#pragma once

namespace fuseflow::testing {

inline int broken_rule = 0;  ///< its number in broken_rules.txt; 0: none

inline bool breaks(int rule) {
  return broken_rule == rule;
}

}  // namespace fuseflow::testing
