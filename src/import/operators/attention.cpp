// Attention and RotaryEmbedding of ONNX, as products, softmax and selections: the nodes that an
// exporter without the operator would have written, so that masks are found where they always are.
#include "import/operators/attention.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "import/operators/common.h"
#include "import/operators/registry.h"

namespace fuseflow {

namespace {

constexpr float kClosed = -std::numeric_limits<float>::infinity();
constexpr int64_t kMostExamined = int64_t{1} << 24;  ///< elements of masks

bool bounds_places(const OpenPlaces& p) {
  return p.causal || p.left >= 0 || p.right >= 0 || !p.key_counts.empty();
}

/// A constant [queries, keys], or [batch, 1, queries, keys] where batches differ; null if all is
/// open.
ConstantPtr open_mask(const NodeImport& node, const AttentionForm& form) {
  const OpenPlaces& p = form.places;
  if (!bounds_places(p)) return nullptr;
  const bool by_batch = p.first.size() > 1 || !p.key_counts.empty();
  const int64_t batches = by_batch ? form.batch : 1;
  std::vector<int64_t> shape = {form.queries, form.keys};
  if (by_batch) shape = {batches, 1, form.queries, form.keys};
  if (element_count(shape) > kMaxFoldedElements) node.reject("the mask has too many elements");
  auto bits = room_for<int64_t>(element_count(shape));
  size_t bit = 0;
  bool closed = false;
  for (int64_t b = 0; b < batches; ++b) {
    const int64_t first = p.first.empty()       ? 0
                          : p.first.size() == 1 ? p.first[0]
                                                : p.first[static_cast<size_t>(b)];
    const int64_t count = p.key_counts.empty() ? form.keys : p.key_counts[static_cast<size_t>(b)];
    for (int64_t q = 0; q < form.queries; ++q) {
      for (int64_t k = 0; k < form.keys; ++k) {
        const int64_t before = first + q - k;  // how far the key lies before the query
        const bool open = k < count && (!p.causal || before >= 0) &&
                          (p.left < 0 || before <= p.left) && (p.right < 0 || -before <= p.right);
        bits[bit++] = open ? 1 : 0;
        closed = closed || !open;
      }
    }
  }
  return closed ? constant_ints(std::move(bits), std::move(shape), ElementType::boolean) : nullptr;
}

/// A constant of up to four dimensions, read as [batch, heads, queries, keys].
struct Broadcasted {
  ConstantPtr data;
  float at(const int64_t (&place)[4]) const {
    const size_t rank = data->shape.size();
    int64_t index = 0;
    for (size_t d = 0; d < rank; ++d) {
      const int64_t extent = data->shape[d];
      index = index * extent + (extent == 1 ? 0 : place[4 - rank + d]);
    }
    return data->as_float(index);
  }
};

/// Whether some query may attend nothing; true where that is not known.
bool may_close_rows(const NodeImport& node, const AttentionForm& form, const ConstantPtr& places) {
  std::vector<std::pair<Broadcasted, bool>> masks;  // and whether it is added
  if (places) masks.push_back({{places}, false});
  for (const auto& [name, added] : {std::pair{form.open, false}, std::pair{form.added, true}}) {
    if (name.empty()) continue;
    if (!node.importer().has_value(name)) return true;  // computed by the body
    const ConstantPtr data = node.importer().constant_of(node.importer().value(name));
    if (!data || data->shape.size() > 4) return true;
    const std::vector<int64_t> of = data->shape;
    for (size_t d = 0; d < std::min<size_t>(of.size(), 2); ++d) {  // from the last one on
      const int64_t wanted = d == 0 ? form.keys : form.queries;
      const int64_t extent = of[of.size() - 1 - d];
      if (extent != 1 && extent != wanted) return true;  // refused when it is used
    }
    masks.push_back({{data}, added});
  }
  int64_t extents[2] = {1, 1};
  for (const auto& [mask, added] : masks) {
    const size_t rank = mask.data->shape.size();
    for (size_t d = 0; d < 2; ++d) {
      if (rank + d < 4) continue;
      const int64_t extent = mask.data->shape[rank + d - 4];
      if (extent != 1 && extents[d] != 1 && extent != extents[d]) return true;
      extents[d] = std::max(extents[d], extent);
    }
  }
  if (extents[0] * extents[1] * form.queries * form.keys > kMostExamined) return true;
  int64_t at[4] = {};
  for (at[0] = 0; at[0] < extents[0]; ++at[0]) {
    for (at[1] = 0; at[1] < extents[1]; ++at[1]) {
      for (at[2] = 0; at[2] < form.queries; ++at[2]) {
        bool open = false;
        for (at[3] = 0; at[3] < form.keys && !open; ++at[3]) {
          open = std::all_of(masks.begin(), masks.end(), [&](const auto& mask) {
            return mask.first.at(at) != (mask.second ? kClosed : 0);
          });
        }
        if (!open) return true;
      }
    }
  }
  return false;
}

/// Keys and values of heads that several queries share.
BodyValue repeated_heads(Expansion& body, const BodyValue& x, const AttentionForm& form,
                         int64_t size) {
  const int64_t group = form.q_heads / form.kv_heads;
  if (group == 1) return x;
  const BodyValue apart = body.reshape(x, {form.batch, form.kv_heads, 1, form.keys, size});
  const BodyValue wide = body.add(
      "Expand", {apart, body.integers({form.batch, form.kv_heads, group, form.keys, size})});
  return body.reshape(wide, {form.batch, form.q_heads, form.keys, size});
}

/// The scores where they may be attended, -inf elsewhere; and 0/1 of rows that nothing is open in.
struct Masked {
  BodyValue scores, closed_rows;
};

Masked masked_scores(NodeImport& node, Expansion& body, const AttentionForm& form,
                     const BodyValue& scores) {
  const ConstantPtr places = open_mask(node, form);
  const bool guarded = form.closed_rows_are_zero && may_close_rows(node, form, places);
  Masked m{scores, {}};
  BodyValue open = form.open;
  if (places) {
    const BodyValue constant = body.constant(places);
    open = open.empty() ? constant : body.add("And", {open, constant});
  }
  const BodyValue closed = open.empty() && !guarded ? BodyValue() : body.number(kClosed, form.type);
  if (!form.added.empty()) m.scores = body.add("Add", {m.scores, form.added});
  if (!open.empty()) m.scores = body.add("Where", {open, m.scores, closed});
  if (!guarded) return m;
  BodyValue bias = form.added;
  if (!open.empty()) {
    bias = body.add("Where", {open, bias.empty() ? body.number(0, form.type) : bias, closed});
  }
  m.closed_rows = body.add("Equal", {body.reduce("ReduceMax", bias, {-1}), closed});
  return m;
}

}  // namespace

int64_t head_size(const NodeImport& node, int64_t hidden, int64_t heads, const char* what) {
  if (heads < 1 || hidden % heads != 0) {
    node.reject(fmt::format("{} elements of {} are not {} heads of one size", hidden, what, heads));
  }
  return hidden / heads;
}

int64_t cached_places(const NodeImport& node, int i) {
  const View& cache = node.input(i);
  if (cache.rank() == 4) return cache.extent(2);
  node.reject(fmt::format("input {} has shape [{}], expected [batch, heads, places, size]", i,
                          fmt::join(cache.shape(), ",")));
}

BodyValue split_heads(Expansion& body, const BodyValue& x, const std::vector<int64_t>& shape,
                      int64_t heads) {
  return body.transpose(body.reshape(x, {shape[0], shape[1], heads, shape[2] / heads}),
                        {0, 2, 1, 3});
}

BodyValue join_heads(Expansion& body, const BodyValue& x, const std::vector<int64_t>& shape) {
  return body.reshape(body.transpose(x, {0, 2, 1, 3}), {shape[0], shape[2], shape[1] * shape[3]});
}

AttentionValues attend(NodeImport& node, Expansion& body, const AttentionForm& form) {
  if (form.kv_heads < 1 || form.q_heads % form.kv_heads != 0) {
    node.reject(fmt::format("{} heads of queries and {} of keys, expected a multiple", form.q_heads,
                            form.kv_heads));
  }
  AttentionValues values;
  const BodyValue k = repeated_heads(body, form.k, form, form.size);
  const BodyValue v = repeated_heads(body, form.v, form, form.v_size);
  values.scores = body.add("MatMul", {form.q, body.transpose(k, {0, 1, 3, 2})});
  if (form.scale != 1)
    values.scores = body.add("Mul", {values.scores, body.number(form.scale, form.type)});
  values.capped = values.scores;
  if (form.softcap > 0) {
    const BodyValue cap = body.number(form.softcap, form.type);
    const BodyValue small = body.add("Tanh", {body.add("Div", {values.scores, cap})});
    values.capped = body.add("Mul", {small, cap});
  }
  const Masked m = masked_scores(node, body, form, values.capped);
  values.masked = m.scores;
  const bool cast = form.precision != form.type;
  const BodyValue scores = cast ? body.cast(m.scores, form.precision) : m.scores;
  values.weights = body.add("Softmax", {scores}, {{"axis", integer_attribute(-1)}});
  if (cast) values.weights = body.cast(values.weights, form.type);
  if (!m.closed_rows.empty()) {
    values.weights = body.add("Where", {m.closed_rows, body.number(0, form.type), values.weights});
  }
  values.result = body.add("MatMul", {values.weights, v});
  return values;
}

BodyValue rotate(Expansion& body, const BodyValue& x, const std::vector<int64_t>& shape,
                 const Rotation& rotation) {
  const auto last = static_cast<int64_t>(shape.size()) - 1;
  const int64_t half = rotation.rotated / 2;
  const int64_t step = rotation.interleaved ? 2 : 1;
  const int64_t other = rotation.interleaved ? 1 : half;
  const BodyValue a = body.slice(x, last, 0, rotation.interleaved ? rotation.rotated : half, step);
  const BodyValue b = body.slice(x, last, other, rotation.rotated, step);
  const auto product = [&](const BodyValue& l, const BodyValue& r) {
    return body.add("Mul", {l, r});
  };
  const BodyValue real = body.add("Sub", {product(rotation.cosine, a), product(rotation.sine, b)});
  const BodyValue imaginary =
      body.add("Add", {product(rotation.sine, a), product(rotation.cosine, b)});
  BodyValue rotated;
  if (rotation.interleaved) {
    const BodyValue axis = body.integers({last + 1});
    const BodyValue pairs = body.concat(
        {body.add("Unsqueeze", {real, axis}), body.add("Unsqueeze", {imaginary, axis})}, last + 1);
    std::vector<int64_t> flat = shape;
    flat.back() = rotation.rotated;
    rotated = body.reshape(pairs, flat);
  } else {
    rotated = body.concat({real, imaginary}, last);
  }
  if (rotation.rotated == shape.back()) return rotated;
  return body.concat({rotated, body.slice(x, last, rotation.rotated, shape.back())}, last);
}

namespace {

/// An input of Attention as [batch, heads, places, size].
struct Heads {
  BodyValue value;
  std::vector<int64_t> shape;
};

Heads heads_of(NodeImport& node, Expansion& body, int i, const char* attribute, const char* what) {
  const View& x = node.input(i);
  const int64_t given = node.integer(attribute, 0);
  if (x.rank() == 4) return {body.input(i), x.shape()};
  if (x.rank() != 3) {
    node.reject(fmt::format("{} have shape [{}], expected three or four dimensions", what,
                            fmt::join(x.shape(), ",")));
  }
  if (given < 1) node.reject(fmt::format("attribute '{}' is missing", attribute));
  const int64_t size = head_size(node, x.extent(2), given, what);
  return {split_heads(body, body.input(i), x.shape(), given),
          {x.extent(0), given, x.extent(1), size}};
}

/// What was kept of earlier keys (values), and then those of the node.
void append_to_past(NodeImport& node, Expansion& body, int past, Heads& x) {
  if (!node.has_input(past)) return;
  const View& before = node.input(past);
  if (before.rank() != 4 || before.extent(0) != x.shape[0] || before.extent(1) != x.shape[1] ||
      before.extent(3) != x.shape[3]) {
    node.reject(fmt::format("input {} has shape [{}], which does not go on with [{}]", past,
                            fmt::join(before.shape(), ","), fmt::join(x.shape, ",")));
  }
  x.value = body.concat({body.input(past), x.value}, 2);
  x.shape[2] += before.extent(2);
}

/// Whether a mask is one of these scores: [batch, heads, queries, keys], perhaps of fewer keys.
bool fits(const View& mask, const AttentionForm& form) {
  if (mask.rank() < 1 || mask.rank() > 4) return false;
  if (mask.extent(mask.rank() - 1) > form.keys) return false;
  const std::array<int64_t, 3> extents = {form.batch, form.q_heads, form.queries};
  for (int d = 0; d + 1 < mask.rank(); ++d) {
    const int64_t extent = mask.extent(d);
    const auto of = static_cast<size_t>(d + 4 - mask.rank());
    if (extent != 1 && extent != extents[of]) return false;
  }
  return true;
}

/// The mask (input 3), of fewer keys than there are closed for the others.
void use_mask(NodeImport& node, Expansion& body, AttentionForm& form) {
  if (!node.has_input(3)) return;
  const View& mask = node.input(3);
  const bool booleans = mask.type == ElementType::boolean;
  if (!fits(mask, form) || (!booleans && is_integer(mask.type))) {
    node.reject(fmt::format("a mask of shape [{}] and type {} for scores of shape [{},{},{},{}]",
                            fmt::join(mask.shape(), ","), element_name(mask.type), form.batch,
                            form.q_heads, form.queries, form.keys));
  }
  BodyValue value = body.input(3);
  const int64_t missing = form.keys - mask.extent(mask.rank() - 1);
  if (missing > 0 && mask.extent(mask.rank() - 1) != 1) {
    std::vector<int64_t> pads(2 * static_cast<size_t>(mask.rank()), 0);
    pads.back() = missing;
    const BodyValue fill = body.number(booleans ? 0 : kClosed, mask.type);
    value = body.add("Pad", {value, body.integers(std::move(pads)), fill});
  }
  if (!booleans && mask.type != form.type) value = body.cast(value, form.type);
  (booleans ? form.open : form.added) = value;
}

void attention(NodeImport& node) {
  Expansion body(node);
  const bool flat = node.input(0).rank() == 3;
  Heads q = heads_of(node, body, 0, "q_num_heads", "the queries");
  Heads k = heads_of(node, body, 1, "kv_num_heads", "the keys");
  Heads v = heads_of(node, body, 2, "kv_num_heads", "the values");
  if (node.has_input(4) != node.has_input(5)) node.reject("earlier keys and values come together");
  const int64_t new_keys = k.shape[2];
  append_to_past(node, body, 4, k);
  const int64_t before = k.shape[2] - new_keys;
  append_to_past(node, body, 5, v);
  AttentionForm form;
  form.q = q.value, form.k = k.value, form.v = v.value;
  form.batch = q.shape[0], form.q_heads = q.shape[1], form.kv_heads = k.shape[1];
  form.queries = q.shape[2], form.keys = k.shape[2];
  form.size = q.shape[3], form.v_size = v.shape[3];
  form.type = node.input(0).type;
  if (v.shape[1] != form.kv_heads || v.shape[2] != form.keys || k.shape[3] != form.size ||
      k.shape[0] != form.batch || v.shape[0] != form.batch) {
    node.reject(fmt::format("queries [{}], keys [{}] and values [{}] do not fit",
                            fmt::join(q.shape, ","), fmt::join(k.shape, ","),
                            fmt::join(v.shape, ",")));
  }
  form.scale = node.real("scale", 1 / std::sqrt(static_cast<float>(form.size)));
  form.softcap = node.real("softcap", 0);
  const int64_t code = node.integer("softmax_precision", 0);
  form.precision = code == 0 ? form.type : node.onnx_type(code);
  form.places.causal = node.integer("is_causal", 0) != 0;
  form.places.left = node.integer("left_window_size", -1);
  form.places.right = node.integer("right_window_size", -1);
  form.places.first = {before};
  if (node.has_input(6)) {
    form.places.key_counts = node.ints_input(6, "the numbers of keys");
    if (static_cast<int64_t>(form.places.key_counts.size()) != form.batch)
      node.reject("expected a number of keys for each batch");
    form.places.first.clear();
    for (const int64_t count : form.places.key_counts)
      form.places.first.push_back(count - form.queries);
  }
  use_mask(node, body, form);
  const AttentionValues values = attend(node, body, form);
  body.result(0, flat ? join_heads(body, values.result,
                                   {form.batch, form.q_heads, form.queries, form.v_size})
                      : values.result);
  body.result(1, k.value);
  body.result(2, v.value);
  const BodyValue* stages[] = {&values.scores, &values.capped, &values.masked, &values.weights};
  const int64_t stage = node.integer("qk_matmul_output_mode", 0);
  if (stage < 0 || stage > 3)
    node.reject(fmt::format("qk_matmul_output_mode {}, expected 0 to 3", stage));
  body.result(3, *stages[stage]);
  body.finish();
}

/// Sine (cosine) of each place, to broadcast to the heads: [batch, places, 1, half], or with the
/// heads before the places.
BodyValue cache_of(NodeImport& node, Expansion& body, int i, int64_t half, bool heads_first) {
  const View& cache = node.input(i);
  if (cache.rank() < 2 || cache.extent(cache.rank() - 1) != half) {
    node.reject(fmt::format("input {} has shape [{}], expected a last dimension of {}", i,
                            fmt::join(cache.shape(), ","), half));
  }
  const BodyValue rows =
      node.has_input(3) ? body.add("Gather", {body.input(i), body.input(3)}) : body.input(i);
  return body.add("Unsqueeze", {rows, body.integers({heads_first ? -3 : -2})});
}

void rotary_embedding(NodeImport& node) {
  const View& x = node.input(0);
  if (x.rank() != 3 && x.rank() != 4) node.reject("expected three or four dimensions");
  Expansion body(node);
  const int64_t heads = node.integer("num_heads", 0);
  std::vector<int64_t> shape = x.shape();
  BodyValue value = body.input(0);
  if (x.rank() == 3) {
    shape = {shape[0], shape[1], heads, head_size(node, shape[2], heads, "the input")};
    value = body.reshape(value, shape);
  }
  Rotation r;
  r.interleaved = node.integer("interleaved", 0) != 0;
  r.rotated = node.integer("rotary_embedding_dim", 0);
  if (r.rotated == 0) r.rotated = shape.back();
  if (r.rotated < 0 || r.rotated > shape.back() || r.rotated % 2 != 0)
    node.reject(fmt::format("{} rotated elements of {}", r.rotated, shape.back()));
  r.cosine = cache_of(node, body, 1, r.rotated / 2, x.rank() == 4);
  r.sine = cache_of(node, body, 2, r.rotated / 2, x.rank() == 4);
  value = rotate(body, value, shape, r);
  body.result(0, x.rank() == 3 ? body.reshape(value, x.shape()) : value);
  body.finish(Expansion::Kernels::one);
}

constexpr OperatorRow kAttentionRows[] = {
    {"Attention", attention, "numbers of keys that are not constant", ReadAs::body},
    {"RotaryEmbedding", rotary_embedding, "places that are not constant", ReadAs::body},
};

}  // namespace

std::span<const OperatorRow> attention_operators() {
  return kAttentionRows;
}

}  // namespace fuseflow
