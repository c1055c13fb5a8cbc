#include "cluster/chain/lower_plan.h"

#include <fmt/format.h>

#include <array>

#include "cluster/chain/recognize.h"
#include "cluster/common/tile_graph.h"
#include "ir/parse.h"
#include "support/defect.h"
#include "support/error.h"

namespace fuseflow::cluster {
namespace {

const TileDims kMk{0, 2}, kKn{2, 1}, kMn{0, 1}, kNl{1, 3}, kMl{0, 3}, kOnlyN{1}, kOnlyL{3};

class PlanLowering : private TileGraphBuilder {
 public:
  PlanLowering(const ChainForm& form, const Chain& chain, const Plan& plan,
               const Analysis& analysis)
      : TileGraphBuilder(digits_of_loops(form.digits)),
        form_(form),
        chain_(chain),
        plan_(plan),
        analysis_(analysis) {}

  Graph run() {
    dimensions();
    const Input c = maps(form_.first, first_products(), kMn);
    const Input e = second_product(hold(c));
    store(form_.store.tensor, form_.store.subscripts, maps(form_.last, {e}, kMl));
    set_moved_bytes(graph_, form_.tensors);
    return take();
  }

 private:
  void dimensions() {
    for (const Dim dim : kAllDims) {
      const std::string name(1, static_cast<char>(letter_of(dim) - 'A' + 'a'));
      GraphIndex& index = dimension(
          name,
          loops_that(form_.digits, [&](const KernelDigit& d) { return d.dim == digit_dim(dim); }),
          plan_.tile[dim], static_cast<int>(plan_.shape.along(dim)));
      index.extent = chain_.size[dim] / index.block;  // padded
    }
    for (int depth = 0; depth < plan_.schedule.loops(); ++depth) {
      graph_.tiles->loops.push_back(plan_.schedule.loop(depth));
    }
    graph_.tiles->way = plan_.way;
    graph_.tiles->element_bytes = chain_.bytes.work();
  }

  Input operand(const KernelTerm& from, const TileDims& dims, const char* name, bool by_threads) {
    const Input given = load(from.tensor, from.subscripts, dims, analysis_.capacity.stages, name);
    graph_.nodes.back().tile.by_threads = by_threads;
    return given;
  }

  std::vector<Input> first_products() {
    const bool split = plan_.way == GatedWay::split;
    const Input a = operand(form_.a, kMk, "a", chain_.by_threads.a);
    std::vector<Input> products;
    for (size_t branch = 0; branch < form_.b.size(); ++branch) {
      const int only = split ? static_cast<int>(branch) : -1;
      const Input b = operand(form_.b[branch], kKn, "b", chain_.by_threads.b);
      graph_.nodes.back().tile.branch = only;
      Node product = node(NodeKind::tile_multiply, {a, b});
      product.tile.branch = only;
      products.push_back(add(std::move(product), kMn, "c_part"));
    }
    if (plan_.shape.k == 1) return products;
    std::vector<Input> sums{add(node(NodeKind::exchange, products), kMn, "c_sum")};
    while (sums.size() < products.size()) sums.push_back(add_output(kMn, "c_sum"));
    return sums;
  }

  /// The elementwise work of `terms` on products; what the last of them gives.
  Input maps(const std::vector<KernelTerm>& terms, const std::vector<Input>& products,
             const TileDims& dims) {
    std::vector<Input> made(terms.size());
    size_t product = 0;
    for (size_t i = 0; i < terms.size(); ++i) {
      const KernelTerm& at = terms[i];
      switch (at.kind) {
        case KernelTerm::Kind::reduce:
          made[i] = products[product++];
          break;
        case KernelTerm::Kind::load:
          made[i] = load(at.tensor, at.subscripts, load_dims(i, dims), 0, "v");
          break;
        case KernelTerm::Kind::map: {
          std::vector<Input> taken;
          for (const int32_t child : at.children) taken.push_back(made[static_cast<size_t>(child)]);
          made[i] = map(at.op, std::move(taken), dims, dims == kMn ? "c" : "y");
          break;
        }
        default:
          made[i].immediate = at.constant;
      }
    }
    return made.back();
  }

  /// Those of a load between the products, or after them: a vector over the columns, or a tensor of
  /// the result's size.
  const TileDims& load_dims(size_t term, const TileDims& dims) const {
    if (dims == kMn) return kOnlyN;
    return form_.of_size_e[term] ? kMl : kOnlyL;
  }

  Input hold(Input c) {
    if (plan_.shape.k > 1) c = add(node(NodeKind::gather, {c}), kMn, "c_all");
    Node hold = node(NodeKind::tile_hold, {c});
    hold.tile.held = analysis_.capacity.c.fields();
    return add(std::move(hold), kMn, "c_held");
  }

  Input second_product(Input c) {
    if (plan_.shape.shuffle() > 1) {
      Node shuffle = node(NodeKind::shuffle, {c});
      if (analysis_.capacity.slices_stay) shuffle.capacity = plan_.shape.shuffle() - 1;
      c = add(std::move(shuffle), kMn, "c_slice");
    }
    const Input d = operand(form_.d, kNl, "d", chain_.by_threads.d);
    Node product = node(NodeKind::tile_multiply, {c, d});
    product.capacity = analysis_.capacity.e_accumulators;
    product.tile.held = analysis_.capacity.e.fields();
    Input e = add(std::move(product), kMl, "e_part");
    if (plan_.shape.reduce() > 1) e = add(node(NodeKind::reduce_scatter, {e}), kMl, "e_sum");
    return e;
  }

  const ChainForm& form_;
  const Chain& chain_;
  const Plan& plan_;
  const Analysis& analysis_;
};

/// Writes the text of a chain's program.
class ProgramText {
 public:
  explicit ProgramText(const Chain& chain) : chain_(chain) {}

  std::string text() {
    const bool image = chain_.kind == ChainKind::conv && chain_.channels > 0;
    const auto [m, n, k, l] = chain_.size.value;
    const std::string rows =
        image ? fmt::format("{}, {}", chain_.side, chain_.side) : std::to_string(m);
    row_ = image ? "r, s" : "i";
    if (image) {
      declare("input", "x", fmt::format("{}, {}, {}", chain_.channels, chain_.side, chain_.side),
              chain_.bytes.a);
    } else {
      declare("input", "x", fmt::format("{}, {}", m, k), chain_.bytes.a);
    }
    const std::string weight =
        image ? fmt::format("{}, {}, {}, {}", n, chain_.channels, chain_.kernel, chain_.kernel)
              : fmt::format("{}, {}", k, n);
    const bool gated = chain_.gated();
    product("h", "b0", weight, rows + fmt::format(", {}", n), image);
    if (gated) product("u", "b1", weight, rows + fmt::format(", {}", n), image);
    intermediate(gated, rows, n);
    declare("const", "d", fmt::format("{}, {}", n, l), chain_.bytes.d);
    const bool tail =
        chain_.bias1 > 0 || chain_.residual > 0 || chain_.last_activation != Activation::none;
    const std::string e_shape = rows + fmt::format(", {}", l);
    declare(tail ? "temp" : "result", tail ? "e" : "y", e_shape, chain_.bytes.e);
    region(tail ? "e" : "y", fmt::format("%{}[{}, o] = sum(j) %{}[{}, j] * %d[j, o]",
                                         tail ? "e" : "y", row_, c_, row_));
    if (tail) epilogue(e_shape, l);
    return fmt::format("fuseflow 1\nprogram \"{}\"\n", chain_.name) + tensors_ + regions_;
  }

 private:
  /// A type of so many bytes.
  static const char* type_of(int64_t bytes) {
    return bytes == 1 ? "f8e4m3" : bytes == 2 ? "f16" : bytes == 4 ? "f32" : "f64";
  }

  void declare(const std::string& role, const std::string& name, const std::string& shape,
               int64_t bytes) {
    const char* type = type_of(bytes);
    const auto rank = static_cast<size_t>(std::count(shape.begin(), shape.end(), ',')) + 1;
    std::string levels = "dense";
    for (size_t i = 1; i < rank; ++i) levels += ",dense";
    const bool given = role == "input" || role == "const";
    tensors_ += fmt::format("{} %{}: {}[{}] {}{}\n", role, name, type, shape, levels,
                            given ? fmt::format(" = dense(seed={})", ++seed_) : "");
  }

  void region(const std::string& name, const std::string& statement) {
    regions_ += fmt::format("region @{} {{ {} }}\n", name, statement);
  }

  void product(const std::string& name, const std::string& weight, const std::string& shape,
               const std::string& result, bool image) {
    declare("const", weight, shape, chain_.bytes.b);
    declare("temp", name, result, chain_.bytes.c);
    const int64_t before = (chain_.kernel - 1) / 2;
    const std::string window = before > 0 ? fmt::format(" - {}", before) : "";
    region(name, image ? fmt::format("%{}[{}, j] = sum(c, p, q) %x[c, r + p{}, s + q{}] * "
                                     "%{}[j, c, p, q]",
                                     name, row_, window, window, weight)
                       : fmt::format("%{}[{}, j] = sum(k) %x[{}, k] * %{}[k, j]", name, row_, row_,
                                     weight));
  }

  static std::string activated(Activation activation, const std::string& of) {
    return fmt::format("{}({})", op_info(*operator_of(activation)).name, of);
  }

  void intermediate(bool gated, const std::string& rows, int64_t n) {
    std::vector<std::string> branches;
    for (int b = 0; b < (gated ? 2 : 1); ++b) {
      std::string value = fmt::format("%{}[{}, j]", b == 0 ? "h" : "u", row_);
      if (b < chain_.bias0) {
        declare("const", fmt::format("p{}", b), std::to_string(n), chain_.bytes.bias0);
        value = fmt::format("({} + %p{}[j])", value, b);
      }
      branches.push_back(value);
    }
    const bool plain = chain_.activation == Activation::none;
    if (plain && !gated && chain_.bias0 == 0) {
      c_ = "h";
      return;
    }
    c_ = "c";
    declare("temp", "c", fmt::format("{}, {}", rows, n), chain_.bytes.c);
    if (!plain) branches[0] = activated(chain_.activation, branches[0]);
    region("c", fmt::format("%c[{}, j] = {}", row_, fmt::join(branches, " * ")));
  }

  void epilogue(const std::string& shape, int64_t l) {
    std::string sum = fmt::format("%e[{}, o]", row_);
    for (int i = 1; i <= chain_.bias1; ++i) {
      declare("const", fmt::format("q{}", i), std::to_string(l), chain_.bytes.bias1);
      sum += fmt::format(" + %q{}[o]", i);
    }
    for (int i = 0; i < chain_.residual; ++i) {
      const std::string name = i == 0 ? "z" : fmt::format("z{}", i);
      declare("input", name, shape, chain_.bytes.residual);
      sum += fmt::format(" + %{}[{}, o]", name, row_);
    }
    if (chain_.last_activation != Activation::none) sum = activated(chain_.last_activation, sum);
    declare("result", "y", shape, chain_.bytes.e);
    region("y", fmt::format("%y[{}, o] = {}", row_, sum));
  }

  const Chain& chain_;
  std::string tensors_, regions_, row_, c_;
  int seed_ = 0;
};

}  // namespace

Graph lower_plan(const ChainForm& form, const Chain& chain, const Plan& plan,
                 const Analysis& analysis) {
  if (obstacle_of(chain, plan, analysis.steps) != Obstacle::none) {
    throw Defect(fmt::format("plan {} cannot run, expected an executable one", describe(plan)));
  }
  return PlanLowering(form, chain, plan, analysis).run();
}

Program chain_program(const Chain& chain) {
  return parse_program({"chain " + chain.name, ProgramText(chain).text()});
}

ChainForm own_form(const Chain& chain) {
  Chain product = chain;  // convolutions are measured as their im2col form
  product.channels = 0;
  std::vector<FoundChain> found = find_chains(chain_program(product));
  if (found.size() != 1) {
    throw Defect(fmt::format("chain {} is not found in its own program", chain.name));
  }
  return std::move(found.front().form);
}

Graph plan_graph(const Chain& chain, const Plan& plan, const Analysis& analysis) {
  return lower_plan(own_form(chain), chain, plan, analysis);
}

}  // namespace fuseflow::cluster
