#include "product_chain.h"

#include <fmt/format.h>

#include <string>
#include <vector>

#include "ir/parse.h"

namespace fuseflow::testing {

namespace {

class Chain {
 public:
  explicit Chain(uint64_t seed) : state_(seed * 2654435761U + 12345) {}

  Program run() {
    const int matrices = 3 + below(2);
    std::vector<int64_t> extents;
    for (int m = 0; m <= matrices; ++m) extents.push_back(1 + below(7));
    for (int m = 0; m < matrices; ++m) add_matrix(m, extents[m], extents[m + 1]);
    while (parts_.size() > 1) {
      const int at = below(static_cast<int>(parts_.size()) - 1);
      multiply(at, parts_.size() == 2);
    }
    return parse_program({"chain", "fuseflow 1\nprogram \"chain\"\n" + tensors_ + "\n" + regions_});
  }

 private:
  struct Part {
    std::string name;
    int64_t rows, columns;
  };

  int below(int bound) {
    state_ = state_ * 6364136223846793005ULL + 1442695040888963407ULL;
    return static_cast<int>((state_ >> 33) % static_cast<uint64_t>(bound));
  }

  void add_matrix(int number, int64_t rows, int64_t columns) {
    constexpr const char* kFormats[] = {"dense,dense", "dense,compressed", "compressed,compressed",
                                        "dense,compressed@1,0"};
    const int format = below(4);
    tensors_ += fmt::format(
        "input %m{}: f32[{}, {}] {} = uniform(shape=[{},{}],density={},seed={})\n", number, rows,
        columns, kFormats[format], rows, columns, format == 0 ? "1" : "0.4", 1 + below(1000));
    parts_.push_back({fmt::format("m{}", number), rows, columns});
  }

  /// A factor that scales or divides rows now and then, in front or behind, also under the sum.
  std::string scaled(const std::string& product, int64_t rows) {
    const int way = below(4);
    if (way == 0) return product;
    const std::string name = fmt::format("s{}", vectors_++);
    tensors_ += fmt::format("input %{}: f32[{}] dense = dense(values=uniform(1,2),seed={})\n", name,
                            rows, 1 + below(1000));
    if (way == 1) return fmt::format("%{}[i] * {}", name, product);
    if (way == 2) return fmt::format("{} / %{}[i]", product, name);
    return fmt::format("({}) * %{}[i]", product, name);
  }

  void multiply(int at, bool last) {
    const Part left = parts_[at], right = parts_[at + 1];
    const std::string name = last ? "y" : fmt::format("t{}", products_++);
    tensors_ += fmt::format("{} %{}: f32[{}, {}] dense,dense\n", last ? "result" : "temp", name,
                            left.rows, right.columns);
    const std::string sum = fmt::format("sum(k) %{}[i, k] * %{}[k, j]", left.name, right.name);
    add_statement(name, scaled(sum, left.rows));
    if (below(3) == 0) repeat(left, right);
    parts_[at] = {name, left.rows, right.columns};
    parts_.erase(parts_.begin() + at + 1);
  }

  void add_statement(const std::string& name, const std::string& value) {
    regions_ += fmt::format("region @{} {{\n  %{}[i, j] = {}\n}}\n", name, name, value);
  }

  /// Adds a product of `left` and `right` once more, with its factors the other way round.
  void repeat(const Part& left, const Part& right) {
    const std::string name = fmt::format("r{}", repeated_++);
    tensors_ +=
        fmt::format("result %{}: f32[{}, {}] dense,dense\n", name, left.rows, right.columns);
    add_statement(name, fmt::format("relu(sum(q) %{}[q, j] * %{}[i, q])", right.name, left.name));
  }

  uint64_t state_;
  std::string tensors_, regions_;
  std::vector<Part> parts_;
  int vectors_ = 0, products_ = 0, repeated_ = 0;
};

}  // namespace

Program product_chain(uint64_t seed) {
  return Chain(seed).run();
}

}  // namespace fuseflow::testing
