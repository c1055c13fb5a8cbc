// Operators of com.microsoft, which onnxruntime's optimiser and quantiser write: bodies of nodes of
// ONNX's own. Elementwise ones and normalisations stand with their kin.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "import/expansion.h"
#include "import/operators/attention.h"
#include "import/operators/common.h"
#include "import/operators/registry.h"

namespace fuseflow {

namespace {

/// The last two dimensions exchanged, or the first one moved before the last (transBatch), or both.
BodyValue turned(NodeImport& node, Expansion& body, int i, const char* inner, const char* batch) {
  const int rank = node.input(i).rank();
  std::vector<int64_t> order;
  for (int d = 0; d < rank; ++d) order.push_back(d);
  const bool moves = node.integer(batch, 0) != 0;
  if (moves && rank >= 3) {
    order.erase(order.begin());
    order.insert(order.end() - 1, 0);
  }
  if (node.integer(inner, 0) != 0 && rank >= 2)
    std::swap(order[order.size() - 1], order[order.size() - 2]);
  const bool changes = !std::is_sorted(order.begin(), order.end());
  return changes ? body.transpose(body.input(i), order) : body.input(i);
}

void fused_matmul(NodeImport& node) {
  Expansion body(node);
  const BodyValue a = turned(node, body, 0, "transA", "transBatchA");
  const BodyValue b = turned(node, body, 1, "transB", "transBatchB");
  BodyValue y = body.add("MatMul", {a, b});
  const float alpha = node.real("alpha", 1);
  if (alpha != 1) y = body.add("Mul", {y, body.number(alpha, body.type(0))});
  body.result(0, y);
  body.finish(Expansion::Kernels::one);
}

/// Weights of few bits, [rows, blocks, bytes of a block], as one byte for each.
ConstantPtr unpacked(const NodeImport& node, const ConstantTensor& packed, int64_t rows,
                     int64_t columns, int64_t bits) {
  const int64_t per_byte = 8 / bits;
  const int64_t row_bytes = rows == 0 ? 0 : packed.size() / rows;
  if (packed.size() != rows * row_bytes || row_bytes * per_byte < columns)
    node.reject(fmt::format("{} bytes hold no {} x {} weights of {} bits", packed.size(), rows,
                            columns, bits));
  std::vector<int64_t> values;
  values.reserve(static_cast<size_t>(rows * columns));
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t c = 0; c < columns; ++c) {
      const auto byte = static_cast<uint64_t>(packed.as_int(r * row_bytes + c / per_byte));
      const auto shift = static_cast<unsigned>(bits * (c % per_byte));
      values.push_back(static_cast<int64_t>(byte >> shift & ((uint64_t{1} << bits) - 1)));
    }
  }
  return constant_ints(std::move(values), {rows, columns}, ElementType::u8);
}

/// y = a times the transposed weights, which are blocks of few bits with a scale each.
void matmul_n_bits(NodeImport& node) {
  const int64_t inner = node.integer("K", 0);
  const int64_t columns = node.integer("N", 0);
  const int64_t block = node.integer("block_size", 0);
  const int64_t bits = node.integer("bits", 4);
  node.ignore({"accuracy_level"});  // of the computation
  if (node.integer("weight_prepacked", 0) != 0) node.reject("prepacked weights are not supported");
  if (bits != 2 && bits != 4 && bits != 8)
    node.reject(fmt::format("weights of {} bits, expected 2, 4 or 8", bits));
  if (inner < 1 || columns < 1 || block < 1 || inner > kMaxFoldedElements / columns)
    node.reject(fmt::format("K = {}, N = {}, block_size = {}", inner, columns, block));
  if (node.has_input(4)) node.reject("g_idx (input 4, an order of rows) is not supported");
  const int64_t blocks = (inner + block - 1) / block;
  const ConstantPtr packed = node.constant_input(1, "the weights");
  Expansion body(node);
  const BodyValue weights = body.constant(unpacked(node, *packed, columns, inner, bits));
  node.importer().mark_activation(node.importer().value(weights));
  const ElementType type = body.type(0);
  const BodyValue scales = body.reshape(body.input(2), {columns, blocks});
  BodyValue zeros;
  if (!node.has_input(3)) {
    const std::vector<int64_t> middle(static_cast<size_t>(columns * blocks),
                                      int64_t{1} << (bits - 1));
    zeros = body.constant(constant_ints(middle, {columns, blocks}, ElementType::u8));
  } else {
    const ConstantPtr given = node.constant_input(3, "the zero points");
    if (!given->integral()) node.reject("zero points with a fraction are not supported");
    zeros = body.constant(unpacked(node, *given, columns, blocks, bits));
  }
  const BodyValue wide = body.add("DequantizeLinear", {weights, scales, zeros},
                                  {{"axis", integer_attribute(1)},
                                   {"block_size", integer_attribute(block)},
                                   {"output_dtype", integer_attribute(onnx_code(type))}});
  BodyValue y = body.add("MatMul", {body.input(0), body.transpose(wide, {1, 0})});
  if (node.has_input(5)) y = body.add("Add", {y, body.input(5)});
  body.result(0, y);
  body.finish();
}

/// Part `start` .. `start + count` of the last dimension, plus that part of the bias.
BodyValue biased(Expansion& body, const BodyValue& x, const BodyValue& bias, int64_t start,
                 int64_t count) {
  if (bias.empty()) return x;
  return body.add("Add", {x, body.slice(bias, 0, start, start + count)});
}

/// Keys or values: [batch, places, heads * size], or already [batch, heads, places, size].
struct CrossInput {
  BodyValue value;
  int64_t places, size, hidden;
};

CrossInput cross_input(NodeImport& node, Expansion& body, int i, int64_t heads,
                       const BodyValue& bias, int64_t bias_at) {
  const View& x = node.input(i);
  if (x.rank() == 4) return {body.input(i), x.extent(2), x.extent(3), x.extent(1) * x.extent(3)};
  if (x.rank() != 3)
    node.reject(fmt::format("input {} has shape [{}], packed forms are not supported", i,
                            fmt::join(x.shape(), ",")));
  const int64_t size = head_size(node, x.extent(2), heads, "an input");
  const BodyValue value = biased(body, body.input(i), bias, bias_at, x.extent(2));
  return {split_heads(body, value, x.shape(), heads), x.extent(1), size, x.extent(2)};
}

/// 0 where a key is there, `closed` where it is not: from a mask [batch, keys], or the number of
/// keys of each batch.
BodyValue padding_bias(NodeImport& node, Expansion& body, const AttentionForm& form, float closed) {
  const ConstantPtr mask = node.constant_input(4, "the mask of keys");
  const bool lengths = mask->shape.size() == 1 && mask->size() == form.batch;
  if (!lengths && mask->shape != std::vector<int64_t>{form.batch, form.keys}) {
    node.reject(fmt::format("a mask of keys of shape [{}], expected [{}] or [{},{}]",
                            fmt::join(mask->shape, ","), form.batch, form.batch, form.keys));
  }
  std::vector<float> bias;
  for (int64_t b = 0; b < form.batch; ++b) {
    for (int64_t k = 0; k < form.keys; ++k) {
      const bool open = lengths ? k < mask->as_int(b) : mask->as_int(b * form.keys + k) != 0;
      bias.push_back(open ? 0 : closed);
    }
  }
  return body.constant(constant_values(std::move(bias), {form.batch, 1, 1, form.keys}, form.type));
}

void multi_head_attention(NodeImport& node) {
  if (node.has_input(8) || node.has_input(9))
    node.reject("a cache in place (inputs 8 and 9) is not supported");
  if (!node.has_input(1) || !node.has_input(2) || node.input(0).rank() != 3) {
    node.reject("packed queries, keys and values are not supported, expected three inputs");
  }
  const int64_t heads = node.integer("num_heads", 0);
  const View& x = node.input(0);
  Expansion body(node);
  AttentionForm form;
  form.closed_rows_are_zero = false;
  form.type = x.type;
  form.precision = x.type;
  form.batch = x.extent(0), form.queries = x.extent(1), form.q_heads = form.kv_heads = heads;
  form.size = head_size(node, x.extent(2), heads, "the queries");
  const BodyValue bias = node.has_input(3) ? body.input(3) : BodyValue();
  form.q = split_heads(body, biased(body, body.input(0), bias, 0, x.extent(2)), x.shape(), heads);
  const CrossInput k = cross_input(node, body, 1, heads, bias, x.extent(2));
  const CrossInput v = cross_input(node, body, 2, heads, bias, x.extent(2) + k.hidden);
  form.k = k.value, form.v = v.value, form.keys = k.places, form.v_size = v.size;
  if (node.has_input(6) != node.has_input(7)) node.reject("earlier keys and values come together");
  if (node.has_input(6)) {
    form.places.first = {cached_places(node, 6)};
    form.keys += cached_places(node, 6);
    form.k = body.concat({body.input(6), form.k}, 2);
    form.v = body.concat({body.input(7), form.v}, 2);
  }
  form.scale = node.real("scale", 0);
  if (form.scale == 0) form.scale = 1 / std::sqrt(static_cast<float>(form.size));
  form.places.causal = node.integer("unidirectional", 0) != 0;
  const float closed = node.real("mask_filter_value", -10000);
  if (node.has_input(5)) form.added = body.input(5);
  if (node.has_input(4)) {
    const BodyValue padding = padding_bias(node, body, form, closed);
    form.added = form.added.empty() ? padding : body.add("Add", {form.added, padding});
  }
  const AttentionValues values = attend(node, body, form);
  body.result(0, join_heads(body, values.result, {form.batch, heads, form.queries, form.v_size}));
  body.result(1, form.k);
  body.result(2, form.v);
  body.result(3, values.masked);  // as onnxruntime gives them: with bias and masks
  body.finish();
}

/// How many keys there are before those of the node: the same for all batches.
int64_t earlier_keys(const NodeImport& node, int64_t queries) {
  const auto lengths = node.ints_input(5, "the numbers of keys");
  const auto total = node.ints_input(6, "the total length");
  if (total.size() != 1) node.reject("expected one total length");
  for (const int64_t length : lengths) {  // without the last key
    if (length + 1 == total[0]) continue;
    node.reject(fmt::format("batches of {} and {} keys are not supported, expected as many each",
                            length + 1, total[0]));
  }
  if (total[0] < queries) node.reject(fmt::format("{} keys for {} places", total[0], queries));
  return total[0] - queries;
}

/// Earlier keys (values), those of the node, and what a cache of more places holds after them.
BodyValue with_past(NodeImport& node, Expansion& body, int past, const BodyValue& x,
                    int64_t earlier, BodyValue& present, int64_t queries) {
  const int64_t held = node.has_input(past) ? cached_places(node, past) : 0;
  if (held < earlier)
    node.reject(fmt::format("{} earlier keys, but input {} holds {}", earlier, past, held));
  present = x;
  if (earlier > 0) present = body.concat({body.slice(body.input(past), 2, 0, earlier), x}, 2);
  const BodyValue all = present;
  if (held > earlier + queries)
    present = body.concat({all, body.slice(body.input(past), 2, earlier + queries, held)}, 2);
  return all;
}

/// Places that follow a first one, [1, 1]: [1, places].
BodyValue places_from(Expansion& body, const BodyValue& first, int64_t places) {
  std::vector<int64_t> following(static_cast<size_t>(places));
  std::iota(following.begin(), following.end(), 0);
  return body.add("Add", {first, body.integers(std::move(following))});
}

/// Sine or cosine of the node's places, [batch or 1, 1, places, half]. Of positions that are given
/// for a first prompt only the first counts: the others follow it, in all batches.
BodyValue rotary_rows(NodeImport& node, Expansion& body, int cache, int positions, int64_t earlier,
                      int64_t places) {
  if (node.has_input(positions)) {
    BodyValue at = body.input(positions);
    if (earlier == 0) {
      at = places_from(body, body.slice(body.slice(at, 0, 0, 1), 1, 0, 1), places);
    }
    const BodyValue rows = body.add("Gather", {body.input(cache), at});
    return body.add("Unsqueeze", {rows, body.integers({1})});
  }
  return body.slice(body.input(cache), 0, earlier, earlier + places);
}

void reject_unread_options(NodeImport& node) {
  if (node.has_input(1) != node.has_input(2)) node.reject("keys and values come together");
  if (node.has_input(11) || node.integer("smooth_softmax", 0) > 0)
    node.reject("a softmax with a sink (head_sink, smooth_softmax) is not supported");
  if (node.has_input(12) || node.has_input(13) || node.text("k_quant_type", "NONE") != "NONE" ||
      node.text("v_quant_type", "NONE") != "NONE")
    node.reject("a quantised cache is not supported");
  node.ignore({"kv_cache_bit_width"});
  if (node.has_output(3)) node.reject("output 3 (scores) is not supported");
  node.ignore({"qk_output"});
  if (node.input(0).rank() != 3) node.reject("expected queries [batch, places, heads * size]");
}

/// Queries, keys and values of the node's own places by head, which may be packed in one input, one
/// after the other; with the numbers and sizes that follow from them.
AttentionForm grouped_heads(NodeImport& node, Expansion& body) {
  const View& x = node.input(0);
  const bool packed = !node.has_input(1);
  AttentionForm form;
  form.type = form.precision = x.type;
  form.batch = x.extent(0), form.queries = x.extent(1);
  form.q_heads = node.integer("num_heads", 0), form.kv_heads = node.integer("kv_num_heads", 0);
  if (form.kv_heads < 1 || form.q_heads < 1) node.reject("a number of heads is not positive");
  const int64_t heads = packed ? form.q_heads + 2 * form.kv_heads : form.q_heads;
  form.size = form.v_size = head_size(node, x.extent(2), heads, "the queries");
  const auto heads_from = [&](int64_t first, int64_t count) {
    BodyValue part = body.input(0);
    if (packed) part = body.slice(part, 2, first * form.size, (first + count) * form.size);
    return split_heads(body, part, {form.batch, form.queries, count * form.size}, count);
  };
  form.q = heads_from(0, form.q_heads);
  BodyValue* const parts[] = {&form.k, &form.v};
  for (int i = 0; i < 2; ++i) {
    if (packed) {
      *parts[i] = heads_from(form.q_heads + i * form.kv_heads, form.kv_heads);
      continue;
    }
    const View& part = node.input(i + 1);
    if (part.rank() != 3 || part.extent(2) != form.kv_heads * form.size) {
      node.reject(fmt::format("input {} has shape [{}], expected {} heads of {}", i + 1,
                              fmt::join(part.shape(), ","), form.kv_heads, form.size));
    }
    *parts[i] = split_heads(body, body.input(i + 1), part.shape(), form.kv_heads);
  }
  return form;
}

/// Rotates queries and keys, if the node says so.
void rotate_heads(NodeImport& node, Expansion& body, AttentionForm& form, int64_t earlier) {
  if (node.integer("do_rotary", 0) == 0) {
    node.ignore({"rotary_interleaved"});
    for (const int i : {7, 8, 9}) node.ignore_input(i);
    return;
  }
  Rotation r;
  r.interleaved = node.integer("rotary_interleaved", 0) != 0;
  const View& cache = node.input(7);
  if (cache.rank() != 2) node.reject("expected a cache [places, half of the rotated elements]");
  r.rotated = 2 * cache.extent(1);
  if (r.rotated > form.size) node.reject("more elements are rotated than a head has");
  r.cosine = rotary_rows(node, body, 7, 9, earlier, form.queries);
  r.sine = rotary_rows(node, body, 8, 9, earlier, form.queries);
  form.q = rotate(body, form.q, {form.batch, form.q_heads, form.queries, form.size}, r);
  form.k = rotate(body, form.k, {form.batch, form.kv_heads, form.queries, form.size}, r);
}

void group_query_attention(NodeImport& node) {
  reject_unread_options(node);
  Expansion body(node);
  const int64_t earlier = earlier_keys(node, node.input(0).extent(1));
  AttentionForm form = grouped_heads(node, body);
  form.closed_rows_are_zero = false;
  form.keys = earlier + form.queries;
  rotate_heads(node, body, form, earlier);
  BodyValue present[2];
  form.k = with_past(node, body, 3, form.k, earlier, present[0], form.queries);
  form.v = with_past(node, body, 4, form.v, earlier, present[1], form.queries);
  form.scale = node.real("scale", 0);
  if (form.scale == 0) form.scale = 1 / std::sqrt(static_cast<float>(form.size));
  form.softcap = node.real("softcap", 0);
  form.places.causal = true;
  form.places.first = {earlier};
  const int64_t window = node.integer("local_window_size", -1);
  if (window == 0 || window < -1)
    node.reject(
        fmt::format("local_window_size {}, expected -1 (none) or a positive number", window));
  if (window > 0) form.places.left = window - 1;
  if (node.has_input(10)) form.added = body.input(10);
  const AttentionValues values = attend(node, body, form);
  body.result(0,
              join_heads(body, values.result, {form.batch, form.q_heads, form.queries, form.size}));
  body.result(1, present[0]);
  body.result(2, present[1]);
  body.finish();
}

/// Microsoft's RotaryEmbedding: as ONNX's, but places come before the caches, and one place may
/// stand for all that follow it.
void microsoft_rotary_embedding(NodeImport& node) {
  const View& x = node.input(0);
  if (x.rank() != 3 && x.rank() != 4) node.reject("expected three or four dimensions");
  if (node.integer("is_packed_batching", 0) != 0) node.reject("packed batches are not supported");
  if (node.real("scale", 1) != 1) node.reject("a scale is not supported");
  Expansion body(node);
  const View& cache = node.input(2);
  if (cache.rank() != 2) node.reject("expected a cache [places, half of the rotated elements]");
  const int64_t rotated = 2 * cache.extent(1);
  const int64_t declared = node.integer("rotary_embedding_dim", 0);
  if (declared != 0 && declared != rotated)
    node.reject(fmt::format("{} rotated elements, but the caches are for {}", declared, rotated));
  std::vector<int64_t> shape = x.shape();
  BodyValue value = body.input(0);
  if (x.rank() == 3) {
    int64_t heads = node.integer("num_heads", 0);
    if (heads == 0) heads = shape[2] / std::max<int64_t>(1, rotated);
    shape = {shape[0], shape[1], heads, head_size(node, shape[2], heads, "the input")};
    value = body.reshape(value, shape);
  } else {
    node.ignore({"num_heads"});
  }
  if (rotated > shape.back()) node.reject("more elements are rotated than a head has");
  const int64_t places = x.rank() == 3 ? shape[1] : shape[2];
  const ConstantPtr positions = node.constant_input(1, "the places");
  BodyValue ids = body.input(1);
  if (positions->size() == 1 && places != 1) {
    ids = places_from(body, body.reshape(ids, {1, 1}), places);
  } else {
    ids = body.reshape(ids, {positions->size() / std::max<int64_t>(1, places), places});
  }
  const auto rows = [&](int i) {
    const BodyValue all = body.add("Gather", {body.input(i), ids});
    return body.add("Unsqueeze", {all, body.integers({x.rank() == 3 ? 2 : 1})});
  };
  Rotation r;
  r.interleaved = node.integer("interleaved", 0) != 0;
  r.rotated = rotated;
  r.cosine = rows(2);
  r.sine = rows(3);
  value = rotate(body, value, shape, r);
  body.result(0, x.rank() == 3 ? body.reshape(value, x.shape()) : value);
  body.finish(Expansion::Kernels::one);
}

constexpr OperatorRow kMicrosoftRows[] = {
    {"com.microsoft.FusedMatMul", fused_matmul, "", ReadAs::body},
    {"com.microsoft.GroupQueryAttention", group_query_attention,
     "batches of different lengths; sinks; a quantised cache; places and lengths "
     "that are not constant",
     ReadAs::body},
    {"com.microsoft.MatMulNBits", matmul_n_bits,
     "weights that are not constant; g_idx; zero points with a fraction", ReadAs::body},
    {"com.microsoft.MultiHeadAttention", multi_head_attention,
     "packed inputs; a cache in place; a mask of keys that is not constant", ReadAs::body},
    {"com.microsoft.RotaryEmbedding", microsoft_rotary_embedding,
     "packed batches; places that are not constant", ReadAs::body},
};

}  // namespace

std::span<const OperatorRow> microsoft_operators() {
  return kMicrosoftRows;
}

}  // namespace fuseflow
