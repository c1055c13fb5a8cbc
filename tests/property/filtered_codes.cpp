#include "filtered_codes.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string>
#include <vector>

#include "ir/parse.h"
#include "tensor/random.h"

namespace fuseflow::testing {

namespace {

class Codes {
 public:
  Codes(uint64_t seed, bool declared)
      : random_(seed, 97),
        declared_(declared),
        rows_(1 + below(4)),
        inner_(1 + below(6)),
        codes_(1 + below(12)),
        columns_(1 + below(5)) {}

  Program run() {
    const std::string first = code("c");
    consume(first);
    return parse_program({"codes", "fuseflow 1\nprogram \"codes\"\n" + tensors_ +
                                       "\nregion @y {\n" + statements_ + "}\n"});
  }

 private:
  int64_t below(uint64_t bound) { return static_cast<int64_t>(random_.below(bound)); }

  /// An intermediate and what of it is 0 where it is the fill.
  std::string code(const std::string& name) {
    const std::string sum = name + "_sum";
    temp(sum, "dense,dense", "");
    const std::string left = matrix(rows_, inner_, "i, f");
    statement(fmt::format("%{}[i, h] = sum(f) {} * {}", sum, left, matrix(inner_, codes_, "f, h")));
    const std::string biased = fmt::format("(%{}[i, h] + {})", sum, vector("h"));
    constexpr const char* kFormats[] = {"dense,compressed", "compressed,compressed",
                                        "dense,compressed@1,0", "compressed,dense"};
    const std::string format = declared_ ? kFormats[below(4)] : (below(4), "dense,dense");
    const int64_t kind = below(4);
    temp(name, format, kind == 3 ? "fill(1)" : "");
    const std::vector<std::string> values{
        fmt::format("relu({})", biased), fmt::format("relu(%{}[i, h])", sum),
        fmt::format("where({} > 1, {}, 0)", biased, biased), fmt::format("max({}, 1)", biased)};
    statement(fmt::format("%{}[i, h] = {}", name, values[static_cast<size_t>(kind)]));
    return kind == 3 ? fmt::format("(%{}[i, h] - 1)", name) : fmt::format("%{}[i, h]", name);
  }

  void consume(const std::string& c) {
    const std::string v = matrix(codes_, columns_, "h, k");
    const std::string mask = matrix(rows_, codes_, "i, h");
    const std::string d = below(2) == 0 ? code("d") : mask;
    const std::vector<std::string> bodies{
        fmt::format("{} * {}", c, v), fmt::format("({} + {}) * {}", c, d, v),
        fmt::format("{} * {} * {}", c, d, v), fmt::format("({} * {} + {}) * {}", c, mask, d, v),
        fmt::format("max({}, {}) * {}", c, d, v)};
    const bool again = below(4) == 0;  // a second use, which visits everything
    result("y", rows_, columns_);
    statement(fmt::format("%y[i, k] = sum(h) {}", bodies[d == mask ? below(2) * 2 : 1 + below(4)]));
    if (!again) return;
    result("z", rows_, codes_);
    statement(fmt::format("%z[i, h] = {} + {}", c, mask));
  }

  std::string matrix(int64_t rows, int64_t columns, const std::string& subscripts) {
    constexpr const char* kFormats[] = {"dense,dense", "dense,dense", "dense,compressed",
                                        "compressed,compressed"};
    return input(fmt::format("[{}, {}] {}", rows, columns, kFormats[below(4)]), rows * columns,
                 subscripts);
  }
  std::string vector(const std::string& subscript) {
    return input(fmt::format("[{}] dense", codes_), codes_, subscript);
  }
  std::string input(const std::string& type, int64_t elements, const std::string& subscripts) {
    std::vector<int64_t> values;
    for (int64_t e = 0; e < elements; ++e) {
      values.push_back(random_.uniform() < 0.7 ? below(5) - 2 : 0);
    }
    const std::string name = fmt::format("a{}", made_++);
    tensors_ += fmt::format("input %{}: f32{} facts(finite) = values({})\n", name, type,
                            fmt::join(values, ","));
    return fmt::format("%{}[{}]", name, subscripts);
  }
  void temp(const std::string& name, const std::string& format, const std::string& rest) {
    tensors_ += fmt::format("temp %{}: f32[{}, {}] {} {}\n", name, rows_, codes_, format, rest);
  }
  void result(const std::string& name, int64_t rows, int64_t columns) {
    const char* format = below(2) == 0 ? "dense,dense" : "dense,compressed";
    tensors_ += fmt::format("result %{}: f32[{}, {}] {}\n", name, rows, columns, format);
  }
  void statement(const std::string& text) { statements_ += "  " + text + "\n"; }

  Random random_;
  const bool declared_;
  const int64_t rows_;
  const int64_t inner_;
  const int64_t codes_;
  const int64_t columns_;
  int made_ = 0;
  std::string tensors_;
  std::string statements_;
};

}  // namespace

Program filtered_codes(uint64_t seed, bool declared) {
  return Codes(seed, declared).run();
}

}  // namespace fuseflow::testing
