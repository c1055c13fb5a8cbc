#include "meeting_levels.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string>
#include <vector>

#include "ir/parse.h"
#include "tensor/random.h"

namespace fuseflow::testing {

namespace {

constexpr const char* kMatrices[] = {"dense,compressed", "compressed,compressed", "dense,bitvector",
                                     "bitvector,bitvector", "compressed,bitvector"};
constexpr const char* kVectors[] = {"compressed", "bitvector"};
constexpr double kDensities[] = {0.02, 0.1, 0.4, 0.9};

class Meeting {
 public:
  explicit Meeting(uint64_t seed)
      : random_(seed, 91), rows_(1 + below(5)), columns_(1 + below(150)) {
    if (Random(seed, 92).uniform() < 0.25) block_ = 2 + static_cast<int64_t>(seed % 3);
  }

  Program run() {
    const std::string statement = draw_statement();
    return parse_program({"meeting", "fuseflow 1\nprogram \"meeting\"\n" + tensors_ +
                                         "\nregion @x {\n  " + statement + "\n}\n"});
  }

 private:
  /// The blocks in a tensor's format; a program has blocks in all its dimensions or in none.
  std::string blocks(int dimensions) const {
    if (block_ == 0) return "";
    return dimensions == 1 ? fmt::format("[{}]", block_) : fmt::format("[{0}x{0}]", block_);
  }

  int64_t below(uint64_t bound) { return static_cast<int64_t>(random_.below(bound)); }

  std::string draw_statement() {
    switch (below(5)) {
      case 0:
        result(fmt::format("[{}] {}{}", rows_, below(2) == 0 ? "dense" : "compressed", blocks(1)));
        return fmt::format("%x[i] = sum(j) ({})", sum_of_products());
      case 1:
        result(fmt::format("[{}, {}] {}{}", rows_, columns_, kMatrices[below(2)], blocks(2)));
        return fmt::format("%x[i, j] = {}", sum_of_products());
      case 2: {
        result(fmt::format("[{}, {}] {}{}", rows_, rows_, kMatrices[below(2)], blocks(2)));
        const std::string mask = matrix(rows_, "i, k");
        return fmt::format("%x[i, k] = {} * (sum(j) {} * {})", mask, matrix(columns_, "i, j"),
                           matrix(columns_, "k, j"));
      }
      case 3: {
        result(fmt::format("[{}, {}] {}{}", rows_, columns_, kMatrices[below(2)], blocks(2)));
        const std::string left = matrix(rows_, "i, k");
        return fmt::format("%x[i, j] = sum(k) {} * {}", left, matrix(columns_, "k, j"));
      }
      default:
        result("[] scalar");
        return fmt::format("%x = sum(i:{}, j:{}) ({})", rows_, columns_, sum_of_products());
    }
  }

  std::string sum_of_products() {
    std::string text = product();
    if (below(3) == 0) text += " + " + product();
    return text;
  }

  std::string product() {
    std::vector<std::string> factors{matrix(columns_, "i, j")};
    const int64_t more = 1 + below(3);
    for (int64_t f = 0; f < more; ++f) {
      if (below(4) == 0) {
        const int64_t shift = block_ == 0 ? below(4) : 0;  // blocks are met whole
        factors.push_back(
            vector(columns_ + shift, shift == 0 ? "j" : fmt::format("j + {}", shift)));
      } else {
        factors.push_back(matrix(columns_, "i, j"));
      }
    }
    return fmt::format("{}", fmt::join(factors, " * "));
  }

  std::string matrix(int64_t columns, const char* subscripts) {
    const std::string format = kMatrices[below(5)] + blocks(2);
    return tensor(fmt::format("[{}, {}] {}", rows_, columns, format), rows_ * columns, subscripts);
  }
  std::string vector(int64_t size, const std::string& subscript) {
    const std::string format = kVectors[below(2)] + blocks(1);
    return tensor(fmt::format("[{}] {}", size, format), size, subscript);
  }
  std::string tensor(const std::string& type, int64_t elements, const std::string& subscripts) {
    const double density = kDensities[below(4)];
    std::vector<int64_t> values;
    for (int64_t e = 0; e < elements; ++e) {
      values.push_back(random_.uniform() < density ? 1 + below(3) : 0);
    }
    const std::string name = fmt::format("a{}", made_++);
    tensors_ += fmt::format("input %{}: f32{} facts(finite) = values({})\n", name, type,
                            fmt::join(values, ","));
    return fmt::format("%{}[{}]", name, subscripts);
  }
  void result(const std::string& type) { tensors_ += fmt::format("result %x: f32{}\n", type); }

  Random random_;
  const int64_t rows_;
  const int64_t columns_;
  int64_t block_ = 0;  ///< elements of a block in each dimension; 0: no blocks
  int made_ = 0;
  std::string tensors_;
};

}  // namespace

Program meeting_levels(uint64_t seed) {
  return Meeting(seed).run();
}

}  // namespace fuseflow::testing
