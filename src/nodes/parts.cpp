#include "nodes/parts.h"

#include <fmt/format.h>

#include <algorithm>

#include "nodes/spaces.h"

namespace fuseflow {

namespace {

/// A writer and the copies that it is in, outermost first.
struct Part {
  NodeId writer;
  std::vector<const Spaces::Split*> splits;
};

class Parts {
 public:
  Parts(const Graph& graph, std::span<const GraphTensor> tensors, const Spaces& spaces,
        const GraphError& fail)
      : g_(graph), tensors_(tensors), spaces_(spaces), fail_(fail) {}

  bool check(std::span<const NodeId> writers) const {
    std::vector<Part> parts;
    for (const NodeId n : writers) parts.push_back({n, splits_around(n)});
    if (parts.size() == 1 && parts[0].splits.empty()) return true;
    return is_whole(parts, 0) && std::all_of(writers.begin(), writers.end(),
                                             [&](NodeId n) { return takes_all_coordinates(n); });
  }

 private:
  const GraphTensor& tensor(NodeId n) const { return tensors_[g_.nodes[n].tensor]; }

  bool wrong(NodeId n, const std::string& message) const {
    fail_(n, message);
    return false;
  }

  int space(NodeId n) const { return spaces_.of_stream[g_.nodes[n].inputs.back().stream]; }

  /// Whether a part of a result takes the coordinates of all its loops: then different elements go
  /// to different places.
  bool takes_all_coordinates(NodeId n) const {
    if (!tensor(n).format.all_dense()) {
      return wrong(n, fmt::format("stores a part of %{}, which is {}; expected dense levels only, "
                                  "or one writer after a serialize",
                                  tensor(n).name, to_string(tensor(n).format)));
    }
    std::vector<int> around;
    for (int s = space(n); spaces_.spaces[s].parent >= 0; s = spaces_.spaces[s].parent) {
      around.push_back(spaces_.spaces[s].index);
    }
    std::vector<int> taken;
    const std::vector<Input>& inputs = g_.nodes[n].inputs;
    for (size_t i = 0; i + 1 < inputs.size(); ++i) {
      taken.push_back(loop_of_coordinates(g_, spaces_, inputs[i].stream));
    }
    std::sort(around.begin(), around.end());
    std::sort(taken.begin(), taken.end());
    const bool once = std::adjacent_find(taken.begin(), taken.end()) == taken.end();
    if (around == taken && once) return true;
    return wrong(n, fmt::format("stores a part of %{} without the coordinates of all its loops, "
                                "expected each of them once",
                                tensor(n).name));
  }

  std::vector<const Spaces::Split*> splits_around(NodeId n) const {
    std::vector<const Spaces::Split*> splits;
    for (int s = space(n); s >= 0; s = spaces_.spaces[s].parent) {
      const auto found = spaces_.split_of.find(s);
      if (found != spaces_.split_of.end()) splits.insert(splits.begin(), &found->second);
    }
    return splits;
  }

  /// Parts that are in the same copies of the `depth` outermost splits are all there: one that is
  /// in no other split, or those of every copy of the next one.
  bool is_whole(const std::vector<Part>& parts, size_t depth) const {
    const NodeId first = parts[0].writer;
    const Spaces::Split* split = depth < parts[0].splits.size() ? parts[0].splits[depth] : nullptr;
    if (split == nullptr && parts.size() == 1) return true;
    const std::string name = tensor(first).name;
    for (const Part& part : parts) {
      const Spaces::Split* other = depth < part.splits.size() ? part.splits[depth] : nullptr;
      if (split != nullptr && other != nullptr && other->from == split->from &&
          other->copies == split->copies && other->contiguous == split->contiguous) {
        continue;
      }
      const NodeId at = part.writer == first ? parts[1].writer : part.writer;
      return wrong(at, fmt::format("is written twice: %{} is expected to have one writer, or one "
                                   "in each copy that a parallelize makes of a loop",
                                   name));
    }
    for (int64_t copy = 0; copy < split->copies; ++copy) {
      std::vector<Part> inside;
      for (const Part& part : parts) {
        if (part.splits[depth]->copy == copy) inside.push_back(part);
      }
      if (inside.empty()) return lacks(first, *split, copy);
      if (!is_whole(inside, depth + 1)) return false;
    }
    return true;
  }

  bool lacks(NodeId n, const Spaces::Split& split, int64_t copy) const {
    const int index = spaces_.spaces[split.from].index;
    return wrong(n, fmt::format("stores a part of %{}, but copy {} of the {} copies of loop {} has "
                                "no writer; expected one in each copy",
                                tensor(n).name, copy, split.copies, g_.indices[index].name));
  }

  const Graph& g_;
  std::span<const GraphTensor> tensors_;
  const Spaces& spaces_;
  const GraphError& fail_;
};

}  // namespace

bool are_parts(const Graph& graph, std::span<const GraphTensor> tensors, const Spaces& spaces,
               std::span<const NodeId> writers, const GraphError& fail) {
  return Parts(graph, tensors, spaces, fail).check(writers);
}

}  // namespace fuseflow
