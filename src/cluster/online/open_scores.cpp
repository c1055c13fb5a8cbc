#include "cluster/online/open_scores.h"

#include <algorithm>
#include <limits>

#include "sim/program_run.h"

namespace fuseflow::cluster {
namespace {

constexpr int64_t kMostScores = int64_t{1} << 24;  ///< of one element of the batch
constexpr float kClosed = -std::numeric_limits<float>::infinity();

/// The data of the constants that scores are made of.
TensorData constants(const Program& program, const OnlineForm& form) {
  Statement reads;
  for (const KernelTerm& term : form.terms) {
    if (term.kind != KernelTerm::Kind::load) continue;
    if (program.tensors[static_cast<size_t>(term.tensor)].role != Role::constant) continue;
    Expr access;
    access.kind = Expr::Kind::access;
    access.tensor = term.tensor;
    reads.nodes.push_back(std::move(access));
  }
  if (reads.nodes.empty()) return {};
  Program part = program;
  part.reference = {};
  part.regions.assign(1, {});
  part.regions[0].statements = {std::move(reads)};
  return load_tensors(part);
}

/// The loops of rows or of columns, counted as one, the last of them fastest.
struct Loops {
  std::vector<int> digits;
  std::vector<int64_t> extents;

  int64_t size() const {
    int64_t all = 1;
    for (const int64_t extent : extents) all *= extent;
    return all;
  }
  /// The value of a digit; nothing where it is none of these loops.
  std::optional<int64_t> value(int digit, int64_t at) const {
    for (size_t d = digits.size(); d-- > 0; at /= extents[d]) {
      if (digits[d] == digit) return at % extents[d];
    }
    return std::nullopt;
  }
  int64_t drop_first() {
    const int64_t extent = extents.front();
    digits.erase(digits.begin());
    extents.erase(extents.begin());
    return extent;
  }
};

/// What is known of the scores before anything runs: values that follow from constants and from
/// where a score is.
class KnownScores {
 public:
  KnownScores(const Program& program, const OnlineForm& form)
      : form_(form), data_(constants(program, form)) {
    rows_ = loops_of(kKernelM);
    columns_ = loops_of(kKernelK);
    while (rows_.digits.size() > 1 && !matters(rows_.digits.front())) heads_ *= rows_.drop_first();
  }

  bool any() const { return has_coordinates() || !data_.storage.empty(); }
  int64_t rows() const { return rows_.size(); }
  int64_t columns() const { return columns_.size(); }
  /// How many times the rows stand one after another: the outer loops of rows that nothing known
  /// depends on (heads that share keys and have one mask).
  int64_t heads() const { return heads_; }

  /// Is the score at this place -inf, whatever is not known? Sums take no NaN into account: the
  /// caller knows that there is none.
  bool closed(int32_t t, int64_t row, int64_t column) {
    const KernelTerm& term = at(t);
    const std::optional<float> value = known(t, row, column);
    if (value) return *value == kClosed;
    if (term.kind != KernelTerm::Kind::map) return false;
    const auto child = [&](size_t i) { return closed(term.children[i], row, column); };
    if (term.op == Op::add) return child(0) || child(1);
    if (term.op != Op::where) return false;
    const std::optional<float> condition = known(term.children[0], row, column);
    return condition && child(*condition != 0 ? 1 : 2);
  }

 private:
  Loops loops_of(KernelDim dim) const {
    Loops loops;
    for (size_t d = 0; d < form_.digits.size(); ++d) {
      if (form_.digits[d].dim != dim) continue;
      loops.digits.push_back(static_cast<int>(d));
      loops.extents.push_back(form_.digits[d].extent);
    }
    return loops;
  }

  bool matters(int digit) const {
    return std::any_of(form_.terms.begin(), form_.terms.end(), [&](const KernelTerm& term) {
      const bool known =
          term.kind == KernelTerm::Kind::coordinate ||
          (term.kind == KernelTerm::Kind::load && data_.find(term.tensor) != nullptr);
      return known && digits_of(term).count(digit) != 0;
    });
  }

  const KernelTerm& at(int32_t t) const { return form_.terms[static_cast<size_t>(t)]; }

  bool has_coordinates() const {
    return std::any_of(form_.terms.begin(), form_.terms.end(), [](const KernelTerm& term) {
      return term.kind == KernelTerm::Kind::coordinate;
    });
  }

  std::optional<float> known(int32_t t, int64_t row, int64_t column) {
    const KernelTerm& term = at(t);
    if (term.kind == KernelTerm::Kind::constant) return term.constant;
    if (term.kind == KernelTerm::Kind::load) return loaded(term, row, column);
    if (term.kind == KernelTerm::Kind::coordinate) return coordinate(term, row, column);
    if (term.kind != KernelTerm::Kind::map) return std::nullopt;
    std::vector<float> operands;
    for (const int32_t child : term.children) {
      const std::optional<float> value = known(child, row, column);
      if (!value) return std::nullopt;
      operands.push_back(*value);
    }
    return evaluate(term.op, operands);
  }

  std::optional<float> loaded(const KernelTerm& load, int64_t row, int64_t column) {
    const Storage* storage = data_.find(load.tensor);
    if (storage == nullptr) return std::nullopt;
    std::vector<int64_t> place;
    for (size_t d = 0; d < load.subscripts.size(); ++d) {
      const std::optional<int64_t> at_d = value_of(load.subscripts[d], row, column);
      if (!at_d) return std::nullopt;
      if (*at_d < 0 || *at_d >= storage->shape[d]) return storage->fill;
      place.push_back(*at_d);
    }
    return storage->at(place);
  }

  std::optional<float> coordinate(const KernelTerm& of, int64_t row, int64_t column) const {
    const std::optional<int64_t> value = value_of(of.subscripts[0], row, column);
    if (!value) return std::nullopt;
    return static_cast<float>(*value);
  }

  /// Where it depends on rows and columns alone.
  std::optional<int64_t> value_of(const TileSubscript& subscript, int64_t row,
                                  int64_t column) const {
    int64_t value = subscript.offset;
    for (const auto& [digit, factor] : subscript.terms) {
      std::optional<int64_t> at = rows_.value(digit, row);
      if (!at) at = columns_.value(digit, column);
      if (!at) return std::nullopt;
      value += factor * *at;
    }
    return value;
  }

  const OnlineForm& form_;
  const TensorData data_;
  Loops rows_, columns_;
  int64_t heads_ = 1;
};

/// Proved, or assumed as elsewhere (`--check` verifies it).
bool finite(const Tensor& tensor) {
  return tensor.facts.finite || tensor.assumed.finite;
}

bool without_nan(const Tensor& tensor) {
  return finite(tensor) || tensor.facts.no_nan || tensor.facts.below_inf || tensor.assumed.no_nan ||
         tensor.assumed.below_inf;
}

}  // namespace

std::optional<std::array<int64_t, 2>> OpenScores::band() const {
  if (heads > 1) return std::nullopt;
  const auto band = scores.band();
  const bool all = band[0] <= 1 - scores.rows() && band[1] >= scores.columns() - 1;
  if (all || band[0] > band[1]) return std::nullopt;
  return band;
}

std::vector<std::vector<TileRange>> OpenScores::tiles(int64_t block_rows,
                                                      int64_t block_columns) const {
  std::vector<std::vector<TileRange>> all = scores.tiles(block_rows, block_columns);
  for (std::vector<TileRange>& ranges : all) {
    if (ranges.empty()) ranges.push_back({0, 1});
  }
  return all;
}

std::shared_ptr<const OpenScores> open_scores(const Program& program, const OnlineForm& form) {
  const auto tensor = [&](TensorId t) { return program.tensors[static_cast<size_t>(t)]; };
  KnownScores scores(program, form);
  if (!scores.any() || scores.rows() * scores.columns() > kMostScores || form.scores_tensor < 0 ||
      !without_nan(tensor(form.scores_tensor)) || !finite(tensor(form.values.tensor))) {
    return nullptr;
  }
  const int64_t rows = scores.rows(), columns = scores.columns();
  std::vector<size_t> first{0};
  std::vector<PresentElements::Stretch> open;
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < columns; ++j) {
      if (scores.closed(form.scores, i, j)) continue;
      const bool goes_on = open.size() > first.back() && open.back().end == j;
      if (!goes_on) open.push_back({j, j});
      open.back().end = j + 1;
    }
    first.push_back(open.size());
  }
  PresentElements seen(1, rows, columns, std::move(first), std::move(open), scores.heads());
  if (seen.values() == rows * columns) return nullptr;
  return std::make_shared<const OpenScores>(OpenScores{std::move(seen), scores.heads()});
}

}  // namespace fuseflow::cluster
