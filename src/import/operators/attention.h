// Attention over heads as a body of nodes: what Attention of ONNX and of com.microsoft share.
#pragma once

#include <optional>
#include <vector>

#include "import/expansion.h"

namespace fuseflow {

/// Which keys a query may attend, by its place: constant.
struct OpenPlaces {
  bool causal = false;
  int64_t left = -1, right = -1;    ///< of a window around the query's place; -1: no bound
  std::vector<int64_t> first;       ///< the place of query 0 among the keys: one, or by batch
  std::vector<int64_t> key_counts;  ///< by batch: only so many keys are there; empty: all
};

struct AttentionForm {
  BodyValue q, k, v;  ///< [batch, heads, places, size]
  int64_t batch = 1, q_heads = 1, kv_heads = 1, queries = 1, keys = 1, size = 1, v_size = 1;
  ElementType type = ElementType::f32;
  float scale = 1;
  float softcap = 0;
  OpenPlaces places;
  BodyValue open;                            ///< booleans: may be attended; empty: all
  BodyValue added;                           ///< to the scores; empty: nothing
  ElementType precision = ElementType::f32;  ///< of the softmax
  /// Queries that may attend nothing give 0 (of ONNX), not NaN.
  bool closed_rows_are_zero = true;
};

/// The values on the way: scores, capped, masked, after the softmax, and the result
/// [batch, heads, places, size].
struct AttentionValues {
  BodyValue scores, capped, masked, weights, result;
};

AttentionValues attend(NodeImport& node, Expansion& body, const AttentionForm& form);

/// [batch, places, heads * size] as [batch, heads, places, size].
BodyValue split_heads(Expansion& body, const BodyValue& x, const std::vector<int64_t>& shape,
                      int64_t heads);
/// The inverse.
BodyValue join_heads(Expansion& body, const BodyValue& x, const std::vector<int64_t>& shape);

/// Rotary embedding of the first `rotated` elements of the last dimension of x; sine and cosine
/// broadcast to half of them. `shape` is that of x.
struct Rotation {
  BodyValue sine, cosine;
  int64_t rotated = 0;
  bool interleaved = false;
};
BodyValue rotate(Expansion& body, const BodyValue& x, const std::vector<int64_t>& shape,
                 const Rotation& rotation);

/// The places of a cache [batch, heads, places, size] at input i; rejects the node if it is none.
int64_t cached_places(const NodeImport& node, int i);

/// The size of a head; rejects the node if `hidden` elements are not `heads` heads.
int64_t head_size(const NodeImport& node, int64_t hidden, int64_t heads, const char* what);

}  // namespace fuseflow
