#include "product_sum.h"

#include <fmt/format.h>

#include <string>
#include <vector>

#include "ir/parse.h"

namespace fuseflow::testing {

namespace {

class Sum {
 public:
  explicit Sum(uint64_t seed) : state_(seed * 2654435761U + 98765) {}

  Program run() {
    rows_ = 1 + below(6), inner_ = 1 + below(6), columns_ = 1 + below(6);
    for (int m = 0; m < 2; ++m) add_matrix(fmt::format("l{}", m), rows_, inner_);
    for (int m = 0; m < 3; ++m) add_matrix(fmt::format("r{}", m), inner_, columns_);
    add_matrix("w", columns_, columns_);
    tensors_ += fmt::format("input %d: f32[{}] dense = dense(values=uniform(1,2),seed=5)\n", rows_);
    std::string sum = term();
    const int more = 1 + below(3);
    for (int t = 0; t < more; ++t) {
      if (below(4) == 0) sum = named(sum);
      const char* const sign = below(3) == 0 ? "-" : "+";
      sum = below(5) == 0 ? fmt::format("{} {} ({})", term(), sign, sum)
                          : fmt::format("{} {} {}", sum, sign, term());
    }
    constexpr const char* kAround[] = {"{}", "relu({})", "%d[i] * ({})", "({}) / %d[i]"};
    sum = fmt::format(fmt::runtime(kAround[below(4)]), sum);
    add_statement("result", "y", rows_, columns_, sum);
    return parse_program({"sum", "fuseflow 1\nprogram \"sum\"\n" + tensors_ + "\n" + regions_});
  }

 private:
  int below(int bound) {
    state_ = state_ * 6364136223846793005ULL + 1442695040888963407ULL;
    return static_cast<int>((state_ >> 33) % static_cast<uint64_t>(bound));
  }

  void add_matrix(const std::string& name, int rows, int columns) {
    constexpr const char* kFormats[] = {"dense,dense", "dense,compressed", "compressed,compressed",
                                        "dense,compressed@1,0", "dense,compressed fill(1)"};
    const int format = below(5);
    tensors_ += fmt::format(
        "input %{}: f32[{}, {}] {} = uniform(shape=[{},{}],density={},seed={})\n", name, rows,
        columns, kFormats[format], rows, columns, format == 0 ? "1" : "0.4", 1 + below(1000));
  }

  void add_statement(const char* role, const std::string& name, int rows, int columns,
                     const std::string& value) {
    tensors_ += fmt::format("{} %{}: f32[{}, {}] dense,dense\n", role, name, rows, columns);
    regions_ += fmt::format("region @{} {{\n  %{}[i, j] = {}\n}}\n", name, name, value);
  }

  /// An intermediate of that value, or of one with other names of indices.
  std::string named(const std::string& value) {
    const std::string name = fmt::format("t{}", statements_++);
    add_statement("temp", name, rows_, columns_, value);
    return fmt::format("%{}[i, j]", name);
  }

  /// A product that is summed over an index of its own: of two matrices, or of three where the
  /// first two are an intermediate.
  std::string product() {
    const std::string k = fmt::format("k{}", indices_++);
    const std::string two =
        fmt::format("sum({}) %l{}[i, {}] * %r{}[{}, j]", k, below(2), k, below(3), k);
    if (below(4) != 0) return fmt::format("({})", two);
    return fmt::format("(sum(q{}) {} * %w[q{}, j])", k, with_column(named(two), "q" + k), k);
  }

  static std::string with_column(std::string access, const std::string& index) {
    return access.replace(access.find(", j]"), 4, ", " + index + "]");
  }

  std::string term() {
    constexpr const char* kScaled[] = {"{}",         "{}",       "{}",
                                       "2 * {}",     "{} * 0.5", "%d[i] * {}",
                                       "{} / %d[i]", "-{}",      "3 * {} / %d[i]"};
    const std::string value = fmt::format(fmt::runtime(kScaled[below(9)]), product());
    return below(2) == 0 ? value : named(value);
  }

  uint64_t state_;
  int rows_ = 1, inner_ = 1, columns_ = 1;
  std::string tensors_, regions_;
  int statements_ = 0, indices_ = 0;
};

}  // namespace

Program product_sum(uint64_t seed) {
  return Sum(seed).run();
}

}  // namespace fuseflow::testing
