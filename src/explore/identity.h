// What the results of a search belong to: the program, its data, the machine, the options and the
// seeds. Journals and shards carry it, so that no result is taken for that of another search.
#pragma once

#include <string>

#include "explore/search_options.h"
#include "ir/program.h"
#include "machine/machine.h"
#include "sim/common/tensor_data.h"

namespace fuseflow {

/// A hash of each part, in hexadecimal digits.
struct SearchIdentity {
  std::string program;  ///< as a text
  std::string data;     ///< what its inputs and constants hold, wherever that came from
  std::string machine;
  std::string options;  ///< of which the points and what becomes of them depend
  std::string seeds;
  bool operator==(const SearchIdentity&) const = default;
};

/// `data`: of the inputs and constants of `kernels`.
SearchIdentity identity_of(const Program& kernels, const TensorData& data, const Machine& machine,
                           const SearchOptions& options);

/// One line without commas: "program=.. data=.. machine=.. options=.. seeds=..".
std::string text_of(const SearchIdentity& identity);

/// What differs in a text of another identity, for messages: "the data and the machine are others".
/// Empty if nothing does.
std::string difference(const std::string& text, const SearchIdentity& identity);

}  // namespace fuseflow
