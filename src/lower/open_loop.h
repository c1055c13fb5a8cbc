// Opens one loop for an expression: finds who takes part (levels of views, streamed reductions),
// joins them as the presence formula says, and looks the others up. Private to the emitter.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "lower/emit.h"
#include "lower/formulas.h"

namespace fuseflow {

class LoopOpener {
 public:
  LoopOpener(Emitter& emitter, const Context& context, int index)
      : emitter_(emitter),
        context_(context),
        index_(index),
        known_(emitter.formulas_known_, emitter.expressions_.nodes.size()) {}

  /// The space of the new loop, in which every participant's reference or value is known.
  int open(int node, bool everywhere);

 private:
  /// Which coordinates must be visited, over participants: a number of formulas_.
  using Formula = Formulas::Id;
  /// A participant: a level of a view that is scanned, or a reduction that comes as a stream.
  struct Leaf {
    int node = -1;
    int level = -1;  ///< -1: a stream
    StreamId crd = -1;
    StreamId payload = -1;  ///< reference or value; -1 if further loops follow
    float pad = 0;          ///< value where it is absent
    StreamTensor stream;
    bool located = false;  ///< not scanned after all: looked up where its reference is needed
    bool pending = false;  ///< a filter that is made once it is known whether it decides
    bool is_value() const { return level < 0 && payload >= 0; }
  };
  struct JoinedStream {
    StreamId payload = -1;  ///< as the participant gave it
    StreamId now = -1;      ///< after the joins so far
    bool is_value = false;
    float pad = 0;
    bool covered =
        true;  ///< wherever the participant has an entry, the joined coordinates have one
  };
  struct JoinResult {
    StreamId crd = -1;
    std::vector<JoinedStream> items;
  };

  Formula formula(int n);
  Formula make_formula(int n);
  Formula apply_formula(const ExprNode& expr);
  Formula view_formula(int n);
  Formula stream_formula(int n);
  Formula filter_formula(int n);
  void settle_filters(Formula wanted, bool all);
  bool has_loops_inside() const;
  // join_forms.cpp: what the schedule says of joins.
  void note_places(Formula formula);
  void note_left_joined(Formula formula);
  void note_place(JoinPlace place, const std::vector<int>& leaves, bool decides);
  Formula locate_levels(Formula formula);
  bool may_locate(Formula formula, int leaf, bool alone) const;
  bool by_words(const Leaf& leaf) const;
  JoinResult build_words(Formula formula);
  bool may_gallop(const Leaf& leaf) const;
  size_t where_stored(const Leaf& leaf) const;
  JoinResult gallop(const Leaf& first, const Leaf& second);
  JoinResult build_gallops(Formula formula);

  bool bound(const Affine& affine) const;
  int add_leaf(Leaf leaf);

  JoinResult build(Formula wanted);
  JoinResult build_leaf(int leaf) const;
  JoinResult join_nodes(NodeKind kind, std::vector<JoinResult> parts);
  JoinResult everywhere();
  StreamId scan(TensorId tensor, int level, StreamId reference, int64_t offset, StreamId* inner);
  void look_up(JoinResult& lead);
  void record(const JoinResult& lead, int space);

  Emitter& emitter_;
  const Context& context_;
  const int index_;
  int root_ = -1;                     ///< the expression that the loop is opened for
  std::optional<bool> loops_inside_;  ///< has_loops_inside(), once asked
  std::vector<Leaf> leaves_;
  Formulas formulas_;
  NodeValues known_;  ///< by expression: its formula
  std::vector<std::pair<int, int>>
      dense_;                  ///< (view, level) that could be scanned for every coordinate
  std::vector<int> complete_;  ///< leaves whose fibers have every coordinate
  std::pair<int, StreamId> scanned_{
      -1, -1};  ///< the view that opened an everywhere loop, its reference
  int scanned_level_ = -1;
};

}  // namespace fuseflow
