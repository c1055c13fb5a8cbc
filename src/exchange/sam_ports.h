// Which field of an operation an edge of SAM's graphs means: by what it carries and by its comment,
// `in-B`, `out-j`, `outer-i`.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "exchange/comal.pb.h"
#include "exchange/dot_text.h"

namespace fuseflow {

/// A field that holds a stream; null: none.
struct StreamSlot {
  comal::CrdStream* crd = nullptr;
  comal::RefStream* ref = nullptr;
  comal::ValStream* val = nullptr;
  comal::RepSigStream* signal = nullptr;

  void set(uint64_t id) const;
  const void* address() const;
};

/// The end of an edge: what it carries, and its comment in two parts. Where the two ends need
/// different ones, we write that of the first as `from`.
struct EdgeEnd {
  std::string type;  ///< crd, ref, val, repsig
  std::string side;  ///< in, out, inner, outer, or nothing
  std::string name;
  std::string label;  ///< the name that the label has, which may be another

  explicit EdgeEnd(const DotEdge& edge, bool first = false);
};

/// An operation as it is read: which names its pairs of inputs have is known from the edges.
struct SamNode {
  comal::Operation* operation = nullptr;
  DotAttributes attributes;
  int line = 0;
  std::map<std::string, int> pairs = {};  ///< of a join: names to input pairs
  /// Whether edges name the ports of a node's outer and inner loop, by direction.
  struct NamedSides {
    bool outer = false;
    bool inner = false;
  } named_in = {}, named_out = {};
  bool takes_values = false;

  std::string attribute(const std::string& key) const;
};

/// Notes which ports the edges of a node with an outer and an inner loop name. Comes first, for all
/// edges.
void note_input(SamNode& node, const EdgeEnd& end);
void note_output(SamNode& node, const EdgeEnd& end);

/// An empty slot: the node has no such port. Repeated fields grow by one for each call.
StreamSlot input_slot(SamNode& node, const EdgeEnd& end);
StreamSlot output_slot(SamNode& node, const EdgeEnd& end);

}  // namespace fuseflow
