#include "gated_program.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <string>
#include <vector>

#include "ir/parse.h"
#include "tensor/random.h"

namespace fuseflow::testing {
namespace {

class Gates {
 public:
  explicit Gates(uint64_t seed)
      : random_(seed, 131),
        whole_(below(2) == 0),
        fused_(below(4) == 0),
        rows_(2 + below(4)),
        columns_(3 + below(5)),
        outputs_(1 + below(4)) {}

  Program run() {
    switch (below(5)) {
      case 0:
        top_k();
        break;
      case 1:
        experts();
        break;
      case 2:
        masked_softmax();
        break;
      case 3:
        thresholds();
        break;
      default:
        bins();
    }
    const std::string regions =
        fused_ ? fmt::format("region @all {{\n{}}}\n", fmt::join(statements_, "")) : apart();
    return parse_program({"gates", "fuseflow 1\nprogram \"gates\"\n" + tensors_ + regions});
  }

 private:
  int64_t below(uint64_t bound) { return static_cast<int64_t>(random_.below(bound)); }

  std::string apart() const {
    std::string text;
    for (size_t s = 0; s < statements_.size(); ++s) {
      text += fmt::format("region @r{} {{\n{}}}\n", s, statements_[s]);
    }
    return text;
  }

  std::string number() {
    if (whole_) return fmt::format("{}", below(7) - 3);
    return fmt::format("{:.3f}", 4 * random_.uniform() - 2);
  }

  void input(const std::string& name, const std::vector<int64_t>& shape, double density = 1) {
    int64_t size = 1;
    for (const int64_t extent : shape) size *= extent;
    std::vector<std::string> values;
    for (int64_t i = 0; i < size; ++i) {
      values.push_back(random_.uniform() < density ? number() : "0");
    }
    declare("input", name, shape, density < 1,
            fmt::format(" = values({})", fmt::join(values, ",")));
  }
  void mask(const std::string& name, const std::vector<int64_t>& shape) {
    std::vector<std::string> values;
    for (int64_t i = 0; i < shape[0] * shape[1]; ++i) {
      values.push_back(below(3) > 0 || i % shape[1] == 0 ? "1" : "0");
    }
    declare("input", name, shape, true, fmt::format(" = values({})", fmt::join(values, ",")));
  }
  /// `sparse`: the innermost level is compressed.
  void declare(const std::string& role, const std::string& name, const std::vector<int64_t>& shape,
               bool sparse, const std::string& more = "") {
    std::vector<std::string> levels(shape.size(), "dense");
    if (sparse) levels.back() = "compressed";
    tensors_ += fmt::format("{} %{}: f32[{}] {}{}\n", role, name, fmt::join(shape, ", "),
                            fmt::join(levels, ","), more);
  }
  void temp(const std::string& name, const std::vector<int64_t>& shape) {
    declare("temp", name, shape, below(2) == 0);
  }
  void result(const std::string& name, const std::vector<int64_t>& shape) {
    declare("result", name, shape, false);
  }
  void state(const std::string& text) { statements_.push_back("  " + text + "\n"); }

  /// Scores %s[i, j]: given, or a product.
  void scores() {
    if (below(2) == 0) return input("s", {rows_, columns_});
    const int64_t inner = 2 + below(5);
    input("a", {rows_, inner}, below(2) == 0 ? 1 : 0.6);
    input("b", {inner, columns_});
    declare("temp", "s", {rows_, columns_}, false);
    state("%s[i, j] = sum(k) %a[i, k] * %b[k, j]");
  }
  /// %y from gated values %g[i, j].
  void use() {
    input("w", {columns_, outputs_});
    result("y", {rows_, outputs_});
    state("%y[i, o] = sum(j) %g[i, j] * %w[j, o]");
    result("n", {columns_});
    state("%n[j] = sum(i) (%g[i, j] != 0)");
  }

  void top_k() {
    scores();
    declare("temp", "rank", {rows_, columns_}, false);
    temp("g", {rows_, columns_});
    const bool ties = below(2) == 0;
    state(ties ? "%rank[i, j] = sum(k) (%s[i, k] > %s[i, j] || (%s[i, k] == %s[i, j] && "
                 "coordinate(k) < coordinate(j)))"
               : "%rank[i, j] = sum(k) (%s[i, k] > %s[i, j])");
    state(fmt::format("%g[i, j] = where(%rank[i, j] < {}, %s[i, j], 0)", 1 + below(3)));
    use();
  }

  void experts() {
    scores();
    const int64_t inner = 2 + below(4), hidden = 2 + below(4);
    input("x", {rows_, inner});
    input("u", {columns_, inner, hidden});
    input("v", {columns_, hidden, outputs_});
    declare("temp", "top", {rows_}, false);
    temp("g", {rows_, columns_});
    declare("temp", "h", {rows_, columns_, hidden}, false);
    declare("temp", "e", {rows_, columns_, hidden}, false);
    result("y", {rows_, outputs_});
    result("n", {columns_});
    state("%top[i] = max(j) %s[i, j]");
    state(fmt::format("%g[i, j] = where(%s[i, j] == %top[i], {}, 0)",
                      below(2) == 0 ? "sigmoid(%s[i, j])" : "%s[i, j] + 4"));
    state("%h[i, j, k] = %g[i, j] * sum(f) %x[i, f] * %u[j, f, k]");
    state("%e[i, j, k] = relu(%h[i, j, k])");
    state("%y[i, o] = sum(j, k) %e[i, j, k] * %v[j, k, o]");
    state("%n[j] = sum(i) (%g[i, j] > 0)");
  }

  void masked_softmax() {
    scores();
    mask("m", {rows_, columns_});
    declare("temp", "t", {rows_, columns_}, true, " fill(-inf)");
    declare("temp", "top", {rows_}, false);
    declare("temp", "e", {rows_, columns_}, true);
    declare("temp", "d", {rows_}, false);
    temp("g", {rows_, columns_});
    state("%t[i, j] = where(%m[i, j], %s[i, j], -inf)");
    state("%top[i] = max(j) %t[i, j]");
    state("%e[i, j] = where(%m[i, j], exp(%t[i, j] - %top[i]), 0)");
    state("%d[i] = sum(j) %e[i, j]");
    state("%g[i, j] = %e[i, j] / %d[i]");
    use();
  }

  void thresholds() {
    scores();
    temp("g", {rows_, columns_});
    const std::vector<std::string> gates{"where(%s[i, j] > 0.5, %s[i, j], 0)",
                                         "(sigmoid(%s[i, j]) >= 0.6) * %s[i, j]",
                                         "relu(%s[i, j] - 1)", "max(min(%s[i, j], 2), 0)",
                                         "where(%s[i, j] >= -1 && %s[i, j] <= 1, %s[i, j] * 2, 0)"};
    state("%g[i, j] = " + gates[static_cast<size_t>(below(gates.size()))]);
    use();
  }

  void bins() {
    scores();
    declare("temp", "low", {rows_}, false);
    declare("temp", "high", {rows_}, false);
    declare("temp", "bin", {rows_, columns_}, false);
    temp("g", {rows_, columns_});
    state("%low[i] = min(j) %s[i, j]");
    state("%high[i] = max(j) %s[i, j]");
    state("%bin[i, j] = floor((%s[i, j] - %low[i]) / (%high[i] - %low[i] + 1) * 3)");
    state(fmt::format("%g[i, j] = where(%bin[i, j] == {}, %s[i, j] + 5, 0)", below(3)));
    use();
  }

  Random random_;
  bool whole_, fused_;
  int64_t rows_, columns_, outputs_;
  std::string tensors_;
  std::vector<std::string> statements_;
};

}  // namespace

Program gated_program(uint64_t seed) {
  return Gates(seed).run();
}

}  // namespace fuseflow::testing
