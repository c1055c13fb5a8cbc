#include "cuda/reference.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "cuda/launch_text.h"
#include "cuda/library.h"
#include "cuda/print.h"
#include "cuda/text.h"
#include "graph/tiles.h"
#include "support/defect.h"

namespace fuseflow::cuda {
namespace {

constexpr const char* kRows = "t.rows";  ///< those of a launch, in ff::StatementTensors

/// One statement as a kernel of which a thread computes an element.
class StatementText {
 public:
  StatementText(const Program& program, const Statement& statement,
                const std::map<TensorId, int>& numbers, const TableRows* table)
      : program_(program), statement_(statement), numbers_(numbers), table_(table) {}

  std::string kernel(const std::string& name) {
    text_ = fmt::format(
        "__global__ void {}(ff::StatementTensors t) {{\n  const long e = blockIdx.x * "
        "static_cast<long>(blockDim.x) + threadIdx.x;\n"
        "  if (e >= {}) return;\n",
        name, elements_text(program_, statement_.result, table_, kRows));
    int64_t inner = 1;
    for (size_t d = statement_.result_indices.size(); d-- > 0;) {
      const IndexId i = statement_.result_indices[d];
      const bool rows = d == 0 && table_ != nullptr && table_->rows(statement_.result);
      text_ += fmt::format("  const long x{} = e / {} % {};\n", i, inner,
                           rows ? kRows : std::to_string(extent(i)));
      inner *= extent(i);
    }
    depth_ = 1;
    const std::string value = expression(static_cast<int32_t>(statement_.nodes.size()) - 1);
    text_ += fmt::format("  t.store({}, e, {});\n}}\n", numbers_.at(statement_.result), value);
    return std::move(text_);
  }

 private:
  int64_t extent(IndexId i) const { return statement_.indices[static_cast<size_t>(i)].extent; }
  std::string indent() const { return std::string(static_cast<size_t>(depth_) * 2, ' '); }
  /// A value as C++ text; `0F`, without a point, would be none.
  static std::string number(double value) {
    if (std::isnan(value)) return "(0.0F / 0.0F)";
    if (std::isinf(value)) return value > 0 ? "(1.0F / 0.0F)" : "(-1.0F / 0.0F)";
    return fmt::format("static_cast<float>({:.9g})", value);
  }
  std::string fresh() { return fmt::format("v{}", next_++); }

  std::string expression(int32_t at) {
    const Expr& e = statement_.nodes[static_cast<size_t>(at)];
    switch (e.kind) {
      case Expr::Kind::constant:
        return number(e.constant);
      case Expr::Kind::coordinate:
        return fmt::format("static_cast<float>(x{})", e.index);
      case Expr::Kind::access:
        return access(e);
      case Expr::Kind::apply: {
        std::vector<std::string> operands;
        for (const int32_t child : e.children) operands.push_back(expression(child));
        return define(operator_text(e.op, operands));
      }
      case Expr::Kind::reduce:
        return reduce(e);
    }
    return "0";
  }
  std::string define(const std::string& value) {
    const std::string name = fresh();
    text_ += fmt::format("{}const float {} = {};\n", indent(), name, value);
    return name;
  }
  std::string access(const Expr& e) {
    const Tensor& tensor = program_.tensors[static_cast<size_t>(e.tensor)];
    const std::vector<int64_t> shape = known_shape(tensor);
    std::vector<std::string> inside, terms;
    int64_t pitch = 1;
    for (size_t d = shape.size(); d-- > 0;) {
      std::vector<std::string> sum{std::to_string(e.subscripts[d].offset)};
      for (const auto& [index, factor] : e.subscripts[d].terms)
        sum.push_back(fmt::format("{} * x{}", factor, index));
      const std::string s = fmt::format("({})", fmt::join(sum, " + "));
      if (!e.subscripts[d].is_plain())
        inside.push_back(fmt::format("{0} >= 0 && {0} < {1}", s, shape[d]));
      terms.push_back(fmt::format("{} * {}", pitch, s));
      pitch *= shape[d];
    }
    const std::string value =
        fmt::format("t.read({}, {})", numbers_.at(e.tensor),
                    terms.empty() ? "0" : fmt::format("{}", fmt::join(terms, " + ")));
    return define(inside.empty() ? value
                                 : fmt::format("{} ? {} : {}", fmt::join(inside, " && "), value,
                                               number(tensor.fill)));
  }
  std::string reduce(const Expr& e) {
    const std::string sum = fresh();
    const char* start = e.reduction == Reduction::max    ? "-1.0F / 0.0F"
                        : e.reduction == Reduction::min  ? "1.0F / 0.0F"
                        : e.reduction == Reduction::prod ? "1.0F"
                                                         : "0.0F";
    text_ += fmt::format("{}float {} = {};\n", indent(), sum, start);
    int64_t count = 1;
    for (const IndexId i : e.over) {
      text_ +=
          fmt::format("{0}for (long x{1} = 0; x{1} < {2}; ++x{1}) {{\n", indent(), i, extent(i));
      ++depth_;
      count *= extent(i);
    }
    const std::string value = expression(e.children[0]);
    const bool adds = e.reduction == Reduction::sum || e.reduction == Reduction::mean;
    const std::string name = std::string(reduction_name(e.reduction));
    text_ += fmt::format("{}{} = {};\n", indent(), sum,
                         adds ? sum + " + " + value
                         : e.reduction == Reduction::prod
                             ? sum + " * " + value
                             : fmt::format("ff::op::{}({}, {})", name, sum, value));
    for (size_t i = 0; i < e.over.size(); ++i) {
      --depth_;
      text_ += indent() + "}\n";
    }
    return e.reduction == Reduction::mean ? fmt::format("({} / {}.0F)", sum, count) : sum;
  }

  const Program& program_;
  const Statement& statement_;
  const std::map<TensorId, int>& numbers_;
  const TableRows* table_;
  std::string text_;
  int depth_ = 1, next_ = 0;
};

constexpr size_t kMostNumbered = 96;  ///< ff::StatementTensors::kMost

/// Blocks of 256 threads, one for each element of a tensor.
std::string blocks_text(const Program& program, TensorId id, const TableRows* table) {
  if (table != nullptr && table->rows(id)) {
    return fmt::format("static_cast<unsigned>(({} + 255) / 256)",
                       elements_text(program, id, table, kRows));
  }
  return std::to_string((elements_of(program, id) + 255) / 256);
}

/// Those statements of a region that tensors depend on: others have no part in what a kernel gives,
/// such as what an assumption is checked by.
std::vector<const Statement*> statements_for(const Region& region,
                                             const std::vector<TensorId>& tensors) {
  std::set<TensorId> needed(tensors.begin(), tensors.end());
  std::vector<const Statement*> statements;
  for (size_t i = region.statements.size(); i-- > 0;) {
    const Statement& s = region.statements[i];
    if (needed.count(s.result) == 0) continue;
    for (const Expr& node : s.nodes) {
      if (node.kind == Expr::Kind::access) needed.insert(node.tensor);
    }
    statements.insert(statements.begin(), &s);
  }
  return statements;
}

}  // namespace

std::string statements_text(const Program& program, const Region& region, const std::string& name,
                            const std::vector<TensorId>& tensors, const TableRows* table) {
  if (!why_no_statements(region, tensors).empty()) throw Defect("statements of too many tensors");
  std::map<TensorId, int> numbers;
  for (const TensorId id : tensors) numbers.emplace(id, static_cast<int>(numbers.size()));
  std::string kernels, calls;
  for (const Statement* statement : statements_for(region, tensors)) {
    const Statement& s = *statement;
    const bool temporary = numbers.emplace(s.result, static_cast<int>(numbers.size())).second;
    const int number = numbers.at(s.result);
    const std::string kernel = fmt::format("{}_statement_{}", name, number);
    kernels += StatementText(program, s, numbers, table).kernel(kernel);
    const ElementType declared = program.tensors[static_cast<size_t>(s.result)].type;
    const ElementType type = is_multiplied(declared) ? declared : ElementType::f32;
    if (temporary)
      calls += fmt::format("  t.make({}, {}, {});\n", number,
                           elements_text(program, s.result, table, kRows), type_text(type));
    const std::string plain = fmt::format("{}<<<{}, 256, 0, stream>>>(t);\n", kernel,
                                          blocks_text(program, s.result, table));
    const auto product = library_product(program, s, numbers, table);
    calls += product ? fmt::format(
                           "  if (library == nullptr || !library->product(t, {})) {{\n    {}  }}\n",
                           *product, plain)
                     : "  " + plain;
  }
  return fmt::format(
      "{}static void {}_statements(ff::StatementTensors& t, [[maybe_unused]] ff::Products* "
      "library, cudaStream_t stream) {{\n{}}}\n",
      kernels, name, calls);
}

std::string why_no_statements(const Region& region, const std::vector<TensorId>& tensors) {
  std::set<TensorId> all(tensors.begin(), tensors.end());
  for (const Statement* statement : statements_for(region, tensors)) all.insert(statement->result);
  if (all.size() <= kMostNumbered) return "";
  return fmt::format("{} tensors of its statements, more than {}", all.size(), kMostNumbered);
}

std::string rivals_text(const Generated& g) {
  const Graph& graph = *g.kernel.graph;
  // The library is not asked for products of elements of one byte.
  if (g.kernel.sums.empty() || graph.tiles->element_bytes == 1) return "{}, 0";
  const auto size = [&](int dim) { return dim_text(g.kernel, dim, "rows"); };
  const auto columns = [&](int dim) { return graph.indices[static_cast<size_t>(dim)].elements(); };
  if (tile_form(graph) == TileForm::chain) {
    const bool gated = tile_roles(graph).branches == 2;
    const std::string gate =
        g.kernel.rows.dim < 0 ? std::to_string(columns(0) * columns(1)) : size(0) + " * " + size(1);
    return fmt::format("{{{{1, {}, {}, {}}}, {{1, {}, {}, {}}}}}, {}", size(0),
                       columns(1) * (gated ? 2 : 1), size(2), size(0), size(3), size(1),
                       gated ? gate : "0");
  }
  std::vector<std::string> products;
  for (const Node& node : graph.nodes) {
    if (node.kind != NodeKind::tile_multiply) continue;
    const auto dims = [&](StreamId s) { return graph.streams[static_cast<size_t>(s)].block; };
    const std::vector<int> left = dims(node.inputs[0].stream), result = dims(node.outputs[0]);
    products.push_back(fmt::format("{{{}, {}, {}, {}}}", size(batch_dim(graph)), size(left.at(0)),
                                   size(result.at(1)), size(left.at(1))));
  }
  return fmt::format("{{{}}}, 0", fmt::join(products, ", "));
}

}  // namespace fuseflow::cuda
