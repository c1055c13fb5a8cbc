#include "tensor/patterns.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <span>

#include "support/ceil_div.h"
#include "support/defect.h"
#include "support/error.h"
#include "support/sort_numbers.h"
#include "tensor/limits.h"
#include "tensor/power_law.h"
#include "tensor/random.h"
#include "tensor/sample.h"

namespace fuseflow {

namespace {

/// Bytes an entry takes while it is generated, sorted and stored.
constexpr uint64_t kBytesPerEntry = 24;
constexpr int kMaxRounds = 200;

void require_entries(uint64_t count, std::string_view name) {
  require_countable(count, name);
  require_memory(saturating_product(count, kBytesPerEntry), name);
}

/// density * elements, rounded to the nearest whole number.
uint64_t entries_of_density(const Params& params, double elements) {
  const double density = params.real("density", -1, 0, 1);
  if (density < 0) params.fail("density", "a number from 0 to 1");
  return static_cast<uint64_t>(std::floor(density * elements + 0.5));
}

/// `edges`, or else the count that `density` gives.
uint64_t entries_of_graph(const Params& params, int64_t rows, int64_t columns) {
  const double elements = static_cast<double>(rows) * static_cast<double>(columns);
  if (params.has("edges") && params.has("density"))
    params.fail("edges", "edges or density, not both");
  if (!params.has("edges")) return entries_of_density(params, elements);
  const auto most = static_cast<int64_t>(std::min(elements, static_cast<double>(kMaxStored)));
  return static_cast<uint64_t>(params.integer("edges", 0, 0, most));
}

/// One matrix of a pattern, as it is generated: entries row by row, columns ascending.
class Matrix {
 public:
  Matrix(Coo& entries, const std::vector<uint32_t>& leading, int64_t rows, int64_t columns)
      : entries_(entries), leading_(leading), rows_(rows), columns_(columns) {}

  int64_t rows() const { return rows_; }
  int64_t columns() const { return columns_; }

  void add(int64_t i, int64_t j) {
    stop_.step();
    for (size_t d = 0; d < leading_.size(); ++d) entries_.coords[d].push_back(leading_[d]);
    entries_.coords[leading_.size()].push_back(static_cast<uint32_t>(i));
    entries_.coords[leading_.size() + 1].push_back(static_cast<uint32_t>(j));
  }
  /// Columns [first, end) of row i, cut to the matrix.
  void add_range(int64_t i, int64_t first, int64_t end) {
    for (int64_t j = std::max<int64_t>(first, 0); j < std::min(end, columns_); ++j) add(i, j);
  }
  size_t size() const { return entries_.coords.back().size(); }

 private:
  Coo& entries_;
  const std::vector<uint32_t>& leading_;
  int64_t rows_;
  int64_t columns_;
  PeriodicStopCheck stop_;
};

void block_diagonal(const Params& params, Random& random, Matrix& matrix) {
  const int64_t block = params.integer("block", 0, 0, INT32_MAX);
  if (block == 0) params.fail("block", "a block extent from 1, as in block=16");
  const double density = params.real("density", 1, 0, 1);
  const int64_t diagonal = std::min(matrix.rows(), matrix.columns());
  uint64_t area = 0;
  PeriodicStopCheck stop;
  for (int64_t at = 0; at < diagonal; at += block) {
    stop.step();
    area += static_cast<uint64_t>(std::min(block, matrix.rows() - at) *
                                  std::min(block, matrix.columns() - at));
  }
  const auto wanted = static_cast<uint64_t>(std::floor(density * static_cast<double>(area) + 0.5));
  require_entries(wanted, "block_diagonal");
  int64_t at = 0;      // first row and column of the block at hand
  uint64_t begin = 0;  // the number of its first element
  auto height = static_cast<uint64_t>(std::min(block, matrix.rows()));
  auto width = static_cast<uint64_t>(std::min(block, matrix.columns()));
  sample(random, area, wanted, [&](std::span<const uint64_t> picked) {
    for (const uint64_t element : picked) {
      while (element >= begin + height * width) {
        begin += height * width;
        at += block;
        height = static_cast<uint64_t>(std::min(block, matrix.rows() - at));
        width = static_cast<uint64_t>(std::min(block, matrix.columns() - at));
      }
      const uint64_t offset = element - begin;
      matrix.add(at + static_cast<int64_t>(offset / width),
                 at + static_cast<int64_t>(offset % width));
    }
  });
}

/// Block (I, J) is kept if |I - J| <= 1, I < 2, J < 2 or J is one of `random` distinct block
/// columns drawn for block row I (which may be kept already): Zaheer et al., Big Bird, 2020.
void bigbird(const Params& params, Random& random, Matrix& matrix) {
  const int64_t block = params.integer("block", 64, 1, INT32_MAX);
  const int64_t block_rows = ceil_div(matrix.rows(), block);
  const int64_t block_columns = ceil_div(matrix.columns(), block);
  const auto drawn =
      static_cast<uint64_t>(params.integer("random", 2, 0, std::max<int64_t>(block_columns, 2)));
  const auto block_rows_fit = [&](uint64_t blocks) {
    const auto side = static_cast<uint64_t>(block);
    const uint64_t elements = saturating_product(blocks, saturating_product(side, side));
    require_entries(elements > UINT64_MAX - matrix.size() ? elements : matrix.size() + elements,
                    "bigbird");
  };
  PeriodicStopCheck stop;
  for (int64_t bi = 0; bi < block_rows; ++bi) {
    stop.step();
    std::vector<int64_t> kept = {0, 1, bi - 1, bi, bi + 1};
    if (bi < 2) {
      block_rows_fit(static_cast<uint64_t>(block_columns));
      for (int64_t bj = 0; bj < block_columns; ++bj) kept.push_back(bj);
    }
    const auto count = static_cast<uint64_t>(block_columns);
    sample(random, count, std::min(drawn, count), [&](std::span<const uint64_t> picked) {
      kept.insert(kept.end(), picked.begin(), picked.end());
    });
    std::sort(kept.begin(), kept.end());
    kept.erase(std::unique(kept.begin(), kept.end()), kept.end());
    block_rows_fit(kept.size());
    for (int64_t i = bi * block; i < std::min(matrix.rows(), (bi + 1) * block); ++i) {
      for (const int64_t bj : kept) {
        if (bj >= 0) matrix.add_range(i, bj * block, (bj + 1) * block);
      }
    }
  }
}

/// Row i keeps columns [i - below, i + above].
void band(int64_t below, int64_t above, std::string_view name, Matrix& matrix) {
  const int64_t width = std::min(matrix.columns(), below + above + 1);
  require_entries(
      saturating_product(static_cast<uint64_t>(matrix.rows()), static_cast<uint64_t>(width)), name);
  PeriodicStopCheck stop;
  for (int64_t i = 0; i < matrix.rows(); ++i) {
    stop.step();  // a row may have no columns
    matrix.add_range(i, i - below, i + above + 1);
  }
}

/// One edge of a recursive matrix over 2^levels squared vertices: Chakrabarti et al., R-MAT, 2004.
std::pair<uint64_t, uint64_t> rmat_edge(Random& random, int levels,
                                        const std::array<double, 3>& abc) {
  uint64_t i = 0;
  uint64_t j = 0;
  for (int level = 0; level < levels; ++level) {
    const double u = random.uniform();
    const bool right = (u >= abc[0] && u < abc[0] + abc[1]) || u >= abc[0] + abc[1] + abc[2];
    const bool down = u >= abc[0] + abc[1];
    i = i * 2 + (down ? 1 : 0);
    j = j * 2 + (right ? 1 : 0);
  }
  return {i, j};
}

void rmat(const Params& params, Random& random, Matrix& matrix) {
  const uint64_t wanted = entries_of_graph(params, matrix.rows(), matrix.columns());
  const std::array<double, 3> abc = {params.real("a", 0.57, 0, 1), params.real("b", 0.19, 0, 1),
                                     params.real("c", 0.19, 0, 1)};
  if (abc[0] + abc[1] + abc[2] > 1) params.fail("a", "a + b + c of at most 1");
  require_entries(wanted, "rmat");
  const auto rows = static_cast<uint64_t>(matrix.rows());
  const auto columns = static_cast<uint64_t>(matrix.columns());
  const int levels = static_cast<int>(std::bit_width(std::max(rows, columns) - 1));
  std::vector<uint64_t> picked;
  PeriodicStopCheck stop;
  for (int round = 0; picked.size() < wanted; ++round) {
    if (round == kMaxRounds) {
      params.fail("edges",
                  fmt::format("fewer edges: only {} distinct ones were found in a matrix of "
                              "{} x {} with these probabilities",
                              picked.size(), rows, columns));
    }
    const size_t missing = wanted - picked.size();
    for (size_t k = 0; k < missing; ++k) {
      stop.step();
      const auto [i, j] = rmat_edge(random, levels, abc);
      if (i < rows && j < columns) picked.push_back(i * columns + j);
    }
    sort_numbers(picked);
    picked.erase(std::unique(picked.begin(), picked.end()), picked.end());
  }
  for (const uint64_t at : picked) {
    matrix.add(static_cast<int64_t>(at / columns), static_cast<int64_t>(at % columns));
  }
}

void power_law(const Params& params, Random& random, Matrix& matrix) {
  const uint64_t wanted = entries_of_graph(params, matrix.rows(), matrix.columns());
  const double alpha = params.real("alpha", 2.5, 1.01, 100);
  require_entries(wanted, "power_law");
  // Weights, orders and degrees of every row and column.
  const uint64_t vertices =
      static_cast<uint64_t>(matrix.rows()) + static_cast<uint64_t>(matrix.columns());
  require_memory(saturating_product(vertices, 64), "power_law");
  power_law_edges(random, matrix.rows(), matrix.columns(), wanted, alpha,
                  [&](int64_t i, int64_t j) { matrix.add(i, j); });
}

void fill_matrix(std::string_view name, const Params& params, Random& random, Matrix& matrix) {
  if (name == "power_law") return power_law(params, random, matrix);
  if (name == "rmat") return rmat(params, random, matrix);
  if (name == "block_diagonal") return block_diagonal(params, random, matrix);
  if (name == "bigbird") return bigbird(params, random, matrix);
  constexpr int64_t kMost = INT64_C(1) << 40;
  if (name == "causal") return band(kMost, 0, name, matrix);
  if (name == "banded") {
    return band(params.integer("lower", 1, 0, kMost), params.integer("upper", 1, 0, kMost), name,
                matrix);
  }
  if (name == "sliding_window") {
    const int64_t reach = params.integer("window", 128, 1, kMost) - 1;
    return band(reach, params.boolean("causal", true) ? 0 : reach, name, matrix);
  }
  throw Defect(fmt::format("generator '{}' has no pattern", name));
}

/// Coordinates of elements that are given by number, ascending.
class Numbered {
 public:
  Numbered(Coo& entries, size_t count)
      : entries_(entries), extent_(static_cast<uint64_t>(entries.shape.back())) {
    for (auto& column : entries_.coords) column.reserve(count);
  }

  void add(std::span<const uint64_t> elements) {
    while (!elements.empty()) {
      if (elements.front() >= end_) enter_row(elements.front() / extent_);
      const auto in_row = static_cast<size_t>(
          std::partition_point(elements.begin(),
                               elements.begin() + std::min(elements.size(), extent_),
                               [&](uint64_t element) { return element < end_; }) -
          elements.begin());
      for (size_t d = 0; d < leading_.size(); ++d) {
        entries_.coords[d].resize(entries_.coords[d].size() + in_row, leading_[d]);
      }
      std::vector<uint32_t>& last = entries_.coords.back();
      last.resize(last.size() + in_row);
      uint32_t* out = last.data() + last.size() - in_row;
      const uint64_t begin = end_ - extent_;
      for (size_t k = 0; k < in_row; ++k) out[k] = static_cast<uint32_t>(elements[k] - begin);
      elements = elements.subspan(in_row);
    }
  }

 private:
  void enter_row(uint64_t row) {
    end_ = (row + 1) * extent_;
    for (size_t d = leading_.size(); d-- > 0;) {
      leading_[d] = static_cast<uint32_t>(row % static_cast<uint64_t>(entries_.shape[d]));
      row /= static_cast<uint64_t>(entries_.shape[d]);
    }
  }

  Coo& entries_;
  const uint64_t extent_;
  // the row at hand: all dimensions but the last
  std::vector<uint32_t> leading_ = std::vector<uint32_t>(entries_.shape.size() - 1);
  uint64_t end_ = 0;
};

Coo uniform(const Params& params, Random& random, const std::vector<int64_t>& shape) {
  const auto elements = static_cast<uint64_t>(element_count(shape));
  if (elements >= static_cast<uint64_t>(kManyElements)) {
    throw Error(ExitCode::rejected, fmt::format("uniform: shape [{}] has 2^62 elements or more, "
                                                "expected fewer",
                                                fmt::join(shape, ",")));
  }
  const uint64_t wanted =
      std::min(elements, entries_of_density(params, static_cast<double>(elements)));
  require_entries(wanted, "uniform");
  Coo entries{shape, {}, {}};
  entries.coords.resize(shape.size());
  Numbered numbered(entries, wanted);
  sample(random, elements, wanted, [&](std::span<const uint64_t> picked) { numbered.add(picked); });
  return entries;
}

}  // namespace

Coo generate_pattern(std::string_view name, const Params& params, const std::vector<int64_t>& shape,
                     uint64_t seed) {
  Random random(seed);
  for (const int64_t extent : shape) {
    require_countable(static_cast<uint64_t>(extent), name);
  }
  const size_t least = name == "uniform" ? 1 : 2;
  if (shape.size() < least) {
    throw Error(ExitCode::rejected,
                fmt::format("{}: shape [{}] has {} dimensions, expected at least {}", name,
                            fmt::join(shape, ","), shape.size(), least));
  }
  if (name == "uniform") return uniform(params, random, shape);
  Coo entries{shape, {}, {}};
  entries.coords.resize(shape.size());
  if (element_count(shape) == 0) return entries;
  std::vector<uint32_t> leading(shape.size() - 2, 0);
  for (bool more = true; more;) {
    stop_if_asked();  // there may be many matrices without entries
    Matrix matrix(entries, leading, shape[shape.size() - 2], shape.back());
    fill_matrix(name, params, random, matrix);
    require_entries(entries.coords.back().size(), name);
    more = false;
    for (size_t d = leading.size(); d-- > 0 && !more;) {
      more = ++leading[d] < shape[d];
      if (!more) leading[d] = 0;
    }
  }
  return entries;
}

std::string_view default_values(std::string_view name) {
  const bool mask = name == "bigbird" || name == "causal" || name == "sliding_window";
  return mask ? "ones" : "uniform(-1,1)";
}

}  // namespace fuseflow
