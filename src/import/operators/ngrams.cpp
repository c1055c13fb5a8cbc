// TfIdfVectorizer: how often n-grams of a pool occur in lists of numbers, which are constant.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "import/importer.h"
#include "import/operators/registry.h"
#include "support/text.h"

namespace fuseflow {

namespace {

using Gram = std::vector<int64_t>;

/// The pool: which column each n-gram counts in, and its weight.
struct Pool {
  std::map<Gram, size_t> number;  ///< in the order of the pool
  std::vector<int64_t> columns;
  std::vector<float> weights;
  int64_t width = 0;
};

Pool read_pool(const NodeImport& node) {
  if (node.has_attribute("pool_strings")) node.reject("n-grams of strings are not supported");
  const std::vector<int64_t> numbers = node.integers("pool_int64s");
  std::vector<int64_t> starts = node.integers("ngram_counts");
  Pool pool;
  pool.columns = node.integers("ngram_indexes");
  starts.push_back(static_cast<int64_t>(numbers.size()));
  for (size_t n = 1; n < starts.size(); ++n) {
    const auto length = static_cast<int64_t>(n);
    const bool inside =
        0 <= starts[n - 1] && starts[n - 1] <= starts[n] && starts[n] <= starts.back();
    if (!inside || (starts[n] - starts[n - 1]) % length != 0)
      node.reject("attribute 'ngram_counts' does not divide the pool into n-grams");
    for (int64_t at = starts[n - 1]; at < starts[n]; at += length) {
      const auto first = numbers.begin() + static_cast<std::ptrdiff_t>(at);
      pool.number.emplace(Gram(first, first + static_cast<std::ptrdiff_t>(n)), pool.number.size());
    }
  }
  if (const OnnxAttribute* weights = node.attribute("weights")) pool.weights = weights->floats;
  const bool fits = pool.columns.size() == pool.number.size() &&
                    (pool.weights.empty() || pool.weights.size() == pool.columns.size());
  if (!fits) {
    node.reject(fmt::format("a pool of {} different n-grams with {} indexes and {} weights",
                            pool.number.size(), pool.columns.size(), pool.weights.size()));
  }
  for (const int64_t c : pool.columns) {
    if (c < 0 || c >= kMaxFoldedElements) node.reject(fmt::format("index {} of an n-gram", c));
    pool.width = std::max(pool.width, c + 1);
  }
  return pool;
}

/// Which lengths of n-grams are counted, and how far apart their numbers may be.
struct Extent {
  int64_t least = 0, most = 0, skips = 0;
};

void count_grams(const Gram& row, const Extent& e, const Pool& pool, float* counts) {
  const auto length = static_cast<int64_t>(row.size());
  for (int64_t n = e.least; n <= e.most; ++n) {
    for (int64_t skip = 0; skip <= (n == 1 ? 0 : e.skips); ++skip) {
      for (int64_t start = 0; start + (n - 1) * (skip + 1) < length; ++start) {
        Gram gram;
        for (int64_t i = 0; i < n; ++i)
          gram.push_back(row[static_cast<size_t>(start + i * (skip + 1))]);
        const auto found = pool.number.find(gram);
        if (found != pool.number.end()) counts[pool.columns[found->second]] += 1;
      }
    }
  }
}

void tf_idf(NodeImport& node) {
  const ConstantPtr data = node.constant_input(0, "the numbers");
  const Pool pool = read_pool(node);
  const std::string mode = node.text("mode", "");
  if (mode != "TF" && mode != "IDF" && mode != "TFIDF")
    node.reject(fmt::format("mode '{}' is unknown, expected TF, IDF or TFIDF", shown(mode)));
  const Extent e{node.integer("min_gram_length", 1), node.integer("max_gram_length", 1),
                 node.integer("max_skip_count", 0)};
  const size_t rank = data->shape.size();
  if (rank < 1 || rank > 2 || e.least < 1 || e.most < e.least || e.skips < 0)
    node.reject("expected one or two dimensions, and lengths of n-grams of at least 1");
  const int64_t length = data->shape.back();
  const int64_t rows = rank == 2 ? data->shape[0] : 1;
  std::vector<int64_t> shape = {pool.width};
  if (rank == 2) shape.insert(shape.begin(), rows);
  if (element_count(shape) > kMaxFoldedElements) node.reject("the result is too large");
  const double reads = static_cast<double>(data->size()) *
                       static_cast<double>(std::min(e.most, length)) *
                       static_cast<double>(std::min(e.skips, length) + 1);
  if (reads > static_cast<double>(int64_t{1} << 26))
    node.reject("there are too many n-grams to look up, expected at most 2^26");
  auto counts = room_for<float>(rows * pool.width);
  for (int64_t r = 0; r < rows; ++r) {
    Gram row;
    for (int64_t i = 0; i < length; ++i) row.push_back(data->as_int(r * length + i));
    // Longer n-grams do not occur.
    const Extent possible{e.least, std::min(e.most, length), std::min(e.skips, length)};
    count_grams(row, possible, pool, counts.data() + r * pool.width);
  }
  std::vector<float> weights(static_cast<size_t>(pool.width), 1);
  for (size_t g = 0; g < pool.weights.size(); ++g)
    weights[static_cast<size_t>(pool.columns[g])] = pool.weights[g];
  for (size_t i = 0; i < counts.size() && mode != "TF"; ++i) {
    const float weight = weights[i % weights.size()];
    counts[i] = mode == "IDF" ? (counts[i] > 0 ? weight : 0) : counts[i] * weight;
  }
  node.output_constant(0, constant_floats(std::move(counts), shape));
}

constexpr OperatorRow kNgramsRows[] = {
    {"TfIdfVectorizer", tf_idf, "strings; numbers that are not constant"},
};

}  // namespace

std::span<const OperatorRow> ngrams_operators() {
  return kNgramsRows;
}

}  // namespace fuseflow
