#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "reference/array.h"
#include "reference/contract.h"
#include "reference/points.h"
#include "reference/reference.h"

namespace fuseflow {

namespace {

using namespace reference;

/// Evaluates the expression of one statement over a domain (all of it, or a block of it).
class StatementEvaluator {
 public:
  StatementEvaluator(const Program& program, const Statement& statement,
                     const std::vector<Value>& values, const ReferenceOptions& options)
      : program_(program), statement_(statement), values_(values), options_(options) {
    for (const Index& index : statement.indices) {
      domain_.first.push_back(0);
      domain_.extent.push_back(index.extent);
    }
  }

  Value run() {
    const Tensor& tensor = program_.tensors[statement_.result];
    Value value{known_shape(tensor), nullptr, nullptr};
    if (domain_.size(statement_.result_indices) > options_.max_elements) {
      value.sparse = evaluate_points(program_, statement_, values_);
      return value;
    }
    auto out = std::make_shared<std::vector<float>>(domain_.size(statement_.result_indices));
    run_blocks(0, 0, *out);
    value.dense = std::move(out);
    return value;
  }

 private:
  /// Halves the outermost result loops until what must be spelled out fits.
  void run_blocks(size_t depth, int64_t offset, std::vector<float>& out) {
    const auto& loops = statement_.result_indices;
    if (depth == loops.size() || largest_array() <= options_.max_elements) {
      copy_out(depth, offset, out);
      return;
    }
    const IndexId loop = loops[depth];
    const int64_t extent = domain_.extent[loop];
    int64_t inner = 1;
    for (size_t d = depth + 1; d < loops.size(); ++d) inner *= domain_.extent[loops[d]];
    for (int64_t at = 0; at < extent; ++at) {
      domain_.first[loop] = at;
      domain_.extent[loop] = 1;
      run_blocks(depth + 1, offset + at * inner, out);
    }
    domain_.first[loop] = 0;
    domain_.extent[loop] = extent;
  }

  /// Writes the block's result (loops before `depth` are bound) to its place, which is contiguous.
  void copy_out(size_t, int64_t offset, std::vector<float>& out) {
    const View view = eval(static_cast<int32_t>(statement_.nodes.size()) - 1);
    float* to = out.data() + offset;
    for_each_point(statement_.result_indices, domain_, {&view},
                   [&](const std::vector<int64_t>& at) { *to++ = view.data[at[0]]; });
  }

  /// Elements of the largest array that evaluating the expression spells out.
  int64_t largest_array() const {
    int64_t largest = 0;
    for (const Expr& node : statement_.nodes) {
      if (node.kind != Expr::Kind::reduce && node.kind != Expr::Kind::apply) continue;
      const int32_t position = static_cast<int32_t>(&node - statement_.nodes.data());
      if (node.kind == Expr::Kind::apply && inside_contraction(position)) continue;
      largest = std::max(largest, domain_.size(free_indices(position)));
    }
    return largest;
  }

  /// True for products that a sum consumes factor by factor.
  bool inside_contraction(int32_t position) const {
    for (const Expr& node : statement_.nodes) {
      if (node.kind != Expr::Kind::reduce || node.reduction != Reduction::sum) continue;
      std::vector<int32_t> factors;
      std::vector<int32_t> products;
      split_product(node.children[0], factors, products);
      if (std::find(products.begin(), products.end(), position) != products.end()) return true;
    }
    return false;
  }

  void split_product(int32_t position, std::vector<int32_t>& factors,
                     std::vector<int32_t>& products) const {
    const Expr& node = statement_.nodes[position];
    if (node.kind == Expr::Kind::apply && node.op == Op::mul) {
      products.push_back(position);
      for (const int32_t child : node.children) split_product(child, factors, products);
    } else {
      factors.push_back(position);
    }
  }

  std::vector<IndexId> free_indices(int32_t position) const {
    std::vector<bool> free(statement_.indices.size(), false);
    mark_free(position, free);
    std::vector<IndexId> loops;
    for (size_t i = 0; i < free.size(); ++i) {
      if (free[i]) loops.push_back(static_cast<IndexId>(i));
    }
    return loops;
  }

  void mark_free(int32_t position, std::vector<bool>& free) const {
    const Expr& node = statement_.nodes[position];
    if (node.kind == Expr::Kind::coordinate) free[node.index] = true;
    for (const Subscript& subscript : node.subscripts) {
      for (const auto& term : subscript.terms) free[term.first] = true;
    }
    for (const int32_t child : node.children) mark_free(child, free);
    for (const IndexId index : node.over) free[index] = false;
  }

  View eval(int32_t position) {
    const Expr& node = statement_.nodes[position];
    switch (node.kind) {
      case Expr::Kind::access:
        return access(node);
      case Expr::Kind::constant:
        return view_of({{}, std::make_shared<std::vector<float>>(1, node.constant)}, domain_);
      case Expr::Kind::coordinate:
        return coordinate(node.index);
      case Expr::Kind::apply:
        return apply(position);
      case Expr::Kind::reduce:
        return reduce(position);
    }
    throw Error(ExitCode::internal, "reference: unknown expression");
  }

  View coordinate(IndexId index) const {
    Array array{{index}, std::make_shared<std::vector<float>>()};
    for (int64_t i = 0; i < domain_.extent[index]; ++i) {
      array.values->push_back(static_cast<float>(domain_.first[index] + i));
    }
    return view_of(array, domain_);
  }

  /// Dense values of a tensor; a sparse one is spelled out if it is small enough.
  std::shared_ptr<const std::vector<float>> dense(TensorId tensor) const {
    const Value& value = values_[tensor];
    if (value.dense) return value.dense;
    if (!value.sparse) {
      throw Error(ExitCode::internal,
                  fmt::format("reference: %{} has no value", program_.tensors[tensor].name));
    }
    if (value.elements() > options_.max_elements) {
      throw Error(ExitCode::rejected,
                  fmt::format("%{} has {} elements and is used where the reference evaluation "
                              "needs all of them; run without --check, or with --expect",
                              program_.tensors[tensor].name, value.elements()));
    }
    return std::make_shared<std::vector<float>>(to_dense(*value.sparse));
  }

  View access(const Expr& node) const {
    const Value& value = values_[node.tensor];
    const auto data = dense(node.tensor);
    View view{data->data(), 0, std::vector<int64_t>(domain_.extent.size(), 0),
              std::vector<bool>(domain_.extent.size(), false), data};
    int64_t stride = 1;
    bool inside = true;
    for (size_t d = node.subscripts.size(); d-- > 0;) {
      const Subscript& subscript = node.subscripts[d];
      int64_t low = subscript.offset, high = subscript.offset;
      for (const auto& [index, factor] : subscript.terms) {
        view.strides[index] += factor * stride;
        view.depends[index] = true;
        const int64_t from = factor * domain_.first[index];
        const int64_t to = from + factor * (domain_.extent[index] - 1);
        low += std::min(from, to);
        high += std::max(from, to);
        view.base += from * stride;
      }
      view.base += subscript.offset * stride;
      inside = inside && low >= 0 && high < value.shape[d];
      stride *= value.shape[d];
    }
    return inside ? view : padded(node, *data);
  }

  /// An access of which some points lie outside the tensor: those read the fill.
  View padded(const Expr& node, const std::vector<float>& data) const {
    const Value& value = values_[node.tensor];
    const int32_t position = static_cast<int32_t>(&node - statement_.nodes.data());
    Array array{free_indices(position), nullptr};
    array.values = std::make_shared<std::vector<float>>();
    array.values->reserve(domain_.size(array.loops));
    std::vector<int64_t> at(domain_.extent.size(), 0);
    const auto visit = [&](auto&& self, size_t depth) -> void {
      if (depth < array.loops.size()) {
        const IndexId loop = array.loops[depth];
        for (int64_t i = 0; i < domain_.extent[loop]; ++i) {
          at[loop] = domain_.first[loop] + i;
          self(self, depth + 1);
        }
        return;
      }
      int64_t offset = 0;
      bool inside = true;
      for (size_t d = 0; d < node.subscripts.size(); ++d) {
        int64_t coord = node.subscripts[d].offset;
        for (const auto& [index, factor] : node.subscripts[d].terms) coord += factor * at[index];
        inside = inside && coord >= 0 && coord < value.shape[d];
        offset = offset * value.shape[d] + coord;
      }
      array.values->push_back(inside ? data[offset] : program_.tensors[node.tensor].fill);
    };
    visit(visit, 0);
    return view_of(array, domain_);
  }

  View apply(int32_t position) {
    const Expr& node = statement_.nodes[position];
    std::vector<View> operands;
    for (const int32_t child : node.children) operands.push_back(eval(child));
    Array out{free_indices(position), nullptr};
    out.values = std::make_shared<std::vector<float>>(domain_.size(out.loops));
    if (out.values->empty()) return view_of(out, domain_);
    const IndexId inner = out.loops.empty() ? -1 : out.loops.back();
    const int64_t row = inner < 0 ? 1 : domain_.extent[inner];
    std::vector<IndexId> outer = out.loops;
    if (inner >= 0) outer.pop_back();
    std::vector<std::vector<float>> copies(operands.size(), std::vector<float>(row));
    std::vector<const View*> views;
    for (const View& view : operands) views.push_back(&view);
    float* to = out.values->data();
    for_each_point(outer, domain_, views, [&](const std::vector<int64_t>& at) {
      const float* rows[3] = {};
      int strides[3] = {};
      for (size_t c = 0; c < operands.size(); ++c) {
        const int64_t stride = inner < 0 ? 0 : operands[c].strides[inner];
        rows[c] = operands[c].data + at[c];
        strides[c] = stride == 0 ? 0 : 1;
        if (stride == 0 || stride == 1) continue;
        for (int64_t i = 0; i < row; ++i) copies[c][i] = rows[c][i * stride];
        rows[c] = copies[c].data();
      }
      evaluate_many(node.op, {rows, operands.size()}, {strides, operands.size()}, to, row);
      to += row;
    });
    return view_of(out, domain_);
  }

  View reduce(int32_t position) {
    const Expr& node = statement_.nodes[position];
    double count = 1;
    for (const IndexId index : node.over) count *= static_cast<double>(domain_.extent[index]);
    if (node.reduction == Reduction::sum) return contraction(position, 1);
    if (node.reduction == Reduction::mean) return contraction(position, 1 / count);
    const View body = eval(node.children[0]);
    Array out{free_indices(position), nullptr};
    out.values = std::make_shared<std::vector<float>>();
    out.values->reserve(domain_.size(out.loops));
    for_each_point(out.loops, domain_, {&body}, [&](const std::vector<int64_t>& at) {
      View here = body;
      here.base = at[0];
      float result = identity(node.reduction);
      for_each_point(node.over, domain_, {&here}, [&](const std::vector<int64_t>& point) {
        result = combine(node.reduction, result, here.data[point[0]]);
      });
      out.values->push_back(result);
    });
    return view_of(out, domain_);
  }

  /// A sum, or (scale 1/count) a mean. One sparse factor with fill 0 may drive it if every other
  /// factor is finite, which is looked up in the data, not in the facts.
  View contraction(int32_t position, double scale) {
    const Expr& node = statement_.nodes[position];
    std::vector<int32_t> factors, products;
    split_product(node.children[0], factors, products);
    const int32_t driver = choose_driver(factors);
    std::vector<View> views;
    bool finite = true;
    for (const int32_t factor : factors) {
      if (factor == driver) continue;
      views.push_back(eval(factor));
      finite = finite && (driver < 0 || all_finite(views.back(), factor));
    }
    const auto free = free_indices(position);
    if (driver >= 0 && finite) {
      const Expr& access = statement_.nodes[driver];
      SparseFactor sparse{values_[access.tensor].sparse.get(), {}};
      for (const Subscript& subscript : access.subscripts) {
        sparse.subscripts.push_back(subscript.plain());
      }
      return view_of(contract_sparse(domain_, free, node.over, sparse, views, scale), domain_);
    }
    if (driver >= 0) views.push_back(eval(driver));
    return view_of(contract(domain_, free, node.over, views, scale, options_.threads), domain_);
  }

  /// The sparse factor that takes the least work: its entries times the loops that it does not
  /// bind, the others being spelled out. One that is too large for that comes first.
  int32_t choose_driver(const std::vector<int32_t>& factors) const {
    int32_t best = -1;
    std::pair<bool, double> least;
    for (const int32_t factor : factors) {
      if (!can_drive(statement_.nodes[factor])) continue;
      const Value& value = values_[statement_.nodes[factor].tensor];
      double work = static_cast<double>(value.sparse->stored());
      const std::vector<IndexId> bound = free_indices(factor);
      for (size_t i = 0; i < domain_.extent.size(); ++i) {
        const bool binds =
            std::find(bound.begin(), bound.end(), static_cast<IndexId>(i)) != bound.end();
        if (!binds) work *= static_cast<double>(domain_.extent[i]);
      }
      const std::pair<bool, double> rank{value.elements() <= options_.max_elements, work};
      if (best >= 0 && rank >= least) continue;
      best = factor;
      least = rank;
    }
    return best;
  }

  bool can_drive(const Expr& node) const {
    if (node.kind != Expr::Kind::access) return false;
    const Storage* storage = values_[node.tensor].sparse.get();
    return storage != nullptr && storage->fill == 0 &&
           std::all_of(node.subscripts.begin(), node.subscripts.end(),
                       [](const Subscript& s) { return s.is_plain(); });
  }

  bool all_finite(const View& view, int32_t position) const {
    bool finite = true;
    for_each_point(free_indices(position), domain_, {&view}, [&](const std::vector<int64_t>& at) {
      finite = finite && std::isfinite(view.data[at[0]]);
    });
    return finite;
  }

  const Program& program_;
  const Statement& statement_;
  const std::vector<Value>& values_;
  const ReferenceOptions& options_;
  Domain domain_;
};

}  // namespace

int64_t Value::elements() const {
  return element_count(shape);
}

float Value::at(std::span<const int64_t> coords) const {
  if (sparse) return sparse->at(coords);
  int64_t offset = 0;
  for (size_t d = 0; d < shape.size(); ++d) offset = offset * shape[d] + coords[d];
  return (*dense)[offset];
}

Value value_of(std::shared_ptr<const Storage> storage) {
  Value value{storage->shape, nullptr, nullptr};
  if (storage->format.all_dense()) {
    value.dense = std::make_shared<std::vector<float>>(to_dense(*storage));
  } else {
    value.sparse = std::move(storage);
  }
  return value;
}

std::vector<Value> evaluate(const Program& program,
                            const std::vector<std::shared_ptr<const Storage>>& inputs,
                            const ReferenceOptions& options) {
  std::vector<Value> values(program.tensors.size());
  for (size_t t = 0; t < inputs.size() && t < values.size(); ++t) {
    if (inputs[t]) values[t] = value_of(inputs[t]);
  }
  for (const Region& region : program.regions) {
    for (const Statement& statement : region.statements) {
      values[statement.result] = StatementEvaluator(program, statement, values, options).run();
      if (options.on_result) options.on_result(statement.result, values[statement.result]);
    }
  }
  return values;
}

}  // namespace fuseflow
