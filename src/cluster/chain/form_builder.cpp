#include "cluster/chain/form_builder.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "cluster/common/loop_extent.h"
#include "cluster/common/not_dense.h"
#include "ir/names.h"
#include "support/text.h"

namespace fuseflow::cluster {
namespace {

bool is_plain(const TileSubscript& subscript) {
  return subscript.offset == 0 && (subscript.terms.empty() ||
                                   (subscript.terms.size() == 1 && subscript.terms[0].second == 1));
}

bool same(const FormAccess& x, const FormAccess& y) {
  return x.tensor == y.tensor && x.subscripts == y.subscripts;
}

}  // namespace

int64_t extent_of(const ChainForm& form, Dim dim) {
  int64_t extent = 1;
  for (const FormDigit& digit : form.digits) {
    if (digit.dim == dim && __builtin_mul_overflow(extent, digit.extent, &extent)) return -1;
  }
  return extent;
}

std::optional<BuiltForm> FormBuilder::build(const Statement& e,
                                            const std::vector<const Statement*>& tail) {
  built_ = {};
  tail_tensors_.clear();
  second_.reset();
  made_.clear();
  k_digits_.clear();
  n_digits_.clear();
  why_.clear();
  try {
    return build_all(e, tail);
  } catch (const Refused& refused) {
    why_ = refused.why;
    return std::nullopt;
  }
}

std::string FormBuilder::text_of(TensorId tensor) const {
  return "%" + quote_if_needed(program_.tensors[static_cast<size_t>(tensor)].name);
}

bool FormBuilder::is_given(TensorId tensor) const {
  return program_.tensors[static_cast<size_t>(tensor)].given();
}

/// Why a chain cannot keep a tensor on chip.
std::string FormBuilder::why_not_inner(TensorId tensor) const {
  if (is_given(tensor)) return "is an input or a constant, and no row of C";
  const bool result = program_.tensors[static_cast<size_t>(tensor)].role == Role::result;
  return result ? "is a result, which must be stored"
                : "is part of another chain: a third product, and a chain has two";
}

BuiltForm FormBuilder::build_all(const Statement& e, const std::vector<const Statement*>& tail) {
  const Statement& last = tail.empty() ? e : *tail.back();
  tail_tensors_.insert(e.result);
  for (const Statement* s : tail) tail_tensors_.insert(s->result);
  Binding binding;
  require_dense(last.result);
  built_.form.store.tensor = last.result;
  for (const IndexId index : last.result_indices) {
    Affine at;
    if (extent_of_index(last, index) != 1) {
      at.terms.emplace_back(new_digit(last, index, Dim::m), 1);  // m or l: settled later
    }
    binding[index] = at;
    built_.form.store.subscripts.push_back(at);
  }
  built_.members.insert(last.result);
  last_tree(last, static_cast<int32_t>(last.nodes.size()) - 1, binding);
  if (!second_) refuse("");
  second_product();
  settle_last_loads();
  settle_element_bytes();
  return built_;
}

/// What stays on chip cannot be loaded, too, as a residual that is C or an A that one row adds to
/// C.
void FormBuilder::check_loaded() const {
  const ChainForm& form = built_.form;
  std::vector<TensorId> loaded{form.a.tensor, form.d.tensor};
  for (const FormAccess& b : form.b) loaded.push_back(b.tensor);
  for (const std::vector<FormNode>* nodes : {&form.first, &form.last}) {
    for (const FormNode& node : *nodes) {
      if (node.kind == FormNode::Kind::load) loaded.push_back(node.access.tensor);
    }
  }
  for (const TensorId tensor : loaded) {
    if (built_.members.count(tensor) == 0) continue;
    refuse(fmt::format("{} would be kept on chip, and is an operand, too", text_of(tensor)));
  }
}

/// What E takes: vectors over L (or a number), and tensors of its size (or a column, which is
/// loaded like one). Where it has one row, both look like vectors: then all but the first are taken
/// as tensors, so that the two may have elements of two sizes.
void FormBuilder::settle_last_loads() {
  const bool one_row = extent_of(built_.form, Dim::m) == 1;
  for (FormNode& node : built_.form.last) {
    if (node.kind != FormNode::Kind::load) continue;
    const bool vector = only(digits_of(node.access), {Dim::l});
    node.of_size_e = !vector || (one_row && built_.last_vectors > 0);
    ++(node.of_size_e ? built_.last_tensors : built_.last_vectors);
  }
}

int64_t FormBuilder::extent_of_index(const Statement& s, IndexId index) const {
  const std::optional<int64_t> extent = loop_extent(program_, s, index);
  if (!extent) refuse("a loop has no known extent");
  return *extent;
}

int FormBuilder::new_digit(const Statement& s, IndexId index, Dim dim) {
  FormDigit digit;
  digit.extent = extent_of_index(s, index);
  digit.dim = dim;
  if (digit.extent < 1) refuse("a loop has extent 0");
  const std::vector<FormDigit>& digits = built_.form.digits;
  const auto taken = [&](const std::string& name) {
    return std::any_of(digits.begin(), digits.end(),
                       [&](const FormDigit& other) { return other.name == name; });
  };
  digit.name = unused_name(s.indices[static_cast<size_t>(index)].name, "_", 1, taken);
  built_.form.digits.push_back(digit);
  return static_cast<int>(built_.form.digits.size()) - 1;
}

/// The result indices of a statement where a consumer reads it at `subscripts`.
FormBuilder::Binding FormBuilder::bind_results(const Statement& s,
                                               const std::vector<Affine>& subscripts) const {
  Binding binding;
  for (size_t d = 0; d < s.result_indices.size(); ++d) {
    if (!is_plain(subscripts[d])) {
      refuse(fmt::format("{} is not read at plain loops", text_of(s.result)));
    }
    if (!subscripts[d].terms.empty()) {  // all of the dimension is read
      const auto digit = static_cast<size_t>(subscripts[d].terms[0].first);
      const int64_t shape = program_.tensors[static_cast<size_t>(s.result)].shape[d].value;
      if (built_.form.digits[digit].extent != shape) {
        refuse(fmt::format("only a part of {} is read", text_of(s.result)));
      }
    }
    binding[s.result_indices[d]] = subscripts[d];
  }
  return binding;
}

FormAccess FormBuilder::access_of(const Expr& node, const Binding& binding) const {
  FormAccess access;
  access.tensor = node.tensor;
  require_dense(node.tensor);
  for (const Subscript& subscript : node.subscripts) {
    Affine at;
    at.offset = subscript.offset;
    for (const auto& [index, coefficient] : subscript.terms) {
      const auto bound = binding.find(index);
      if (bound == binding.end()) refuse("a loop is not one of its products'");
      at.offset += coefficient * bound->second.offset;
      for (const auto& [digit, factor] : bound->second.terms) {
        at.terms.emplace_back(digit, coefficient * factor);
      }
    }
    std::sort(at.terms.begin(), at.terms.end());
    access.subscripts.push_back(std::move(at));
  }
  return access;
}

std::set<int> FormBuilder::digits_of(const FormAccess& access) const {
  std::set<int> digits;
  for (const TileSubscript& subscript : access.subscripts) {
    for (const auto& [digit, factor] : subscript.terms) digits.insert(digit);
  }
  return digits;
}

bool FormBuilder::only(const std::set<int>& digits, std::initializer_list<Dim> dims) const {
  return std::all_of(digits.begin(), digits.end(), [&](int digit) {
    const Dim dim = built_.form.digits[static_cast<size_t>(digit)].dim;
    return std::find(dims.begin(), dims.end(), dim) != dims.end();
  });
}

void FormBuilder::require_dense(TensorId tensor) const {
  const Tensor& t = program_.tensors[static_cast<size_t>(tensor)];
  if (std::string why = why_not_dense(t); !why.empty()) refuse(std::move(why));
}

std::optional<FormBuilder::Product> FormBuilder::product_of(const Statement& s, const Expr& node,
                                                            const Binding& binding) {
  if (node.kind != Expr::Kind::reduce || node.reduction != Reduction::sum) return std::nullopt;
  const Expr& body = s.nodes[static_cast<size_t>(node.children[0])];
  if (body.kind != Expr::Kind::apply || body.op != Op::mul) return std::nullopt;
  for (const int32_t child : body.children) {
    if (s.nodes[static_cast<size_t>(child)].kind != Expr::Kind::access) return std::nullopt;
  }
  return Product{&s, body.children[0], body.children[1], node.over, binding};
}

int32_t FormBuilder::add(std::vector<FormNode>& nodes, FormNode node) {
  nodes.push_back(std::move(node));
  return static_cast<int32_t>(nodes.size()) - 1;
}

/// E from its product. The product's operands are looked at later.
int32_t FormBuilder::last_tree(const Statement& s, int32_t at, const Binding& binding) {
  const Expr& expr = s.nodes[static_cast<size_t>(at)];
  FormNode node;
  switch (expr.kind) {
    case Expr::Kind::constant:
      node.kind = FormNode::Kind::constant;
      node.constant = expr.constant;
      break;
    case Expr::Kind::apply:
      if (expr.op != Op::add) built_.last_ops.insert(expr.op);
      node.kind = FormNode::Kind::map;
      node.op = expr.op;
      for (const int32_t child : expr.children) {
        node.children.push_back(last_tree(s, child, binding));
      }
      break;
    case Expr::Kind::reduce: {
      auto product = product_of(s, expr, binding);
      if (!product || second_) refuse("");
      second_ = std::move(product);
      node.kind = FormNode::Kind::product;
      break;
    }
    case Expr::Kind::access:
      return last_access(expr, binding);
    default:
      refuse("");
  }
  return add(built_.form.last, std::move(node));
}

/// What comes from the product, or a load.
int32_t FormBuilder::last_access(const Expr& expr, const Binding& binding) {
  const FormAccess access = access_of(expr, binding);
  const Statement* producer =
      tail_tensors_.count(expr.tensor) != 0 ? statement_of_(expr.tensor) : nullptr;
  if (producer != nullptr) {
    built_.last_read_again = built_.last_read_again || made_.count(expr.tensor) != 0;
    return computed(*producer, access, &FormBuilder::last_tree);
  }
  FormNode load;
  load.kind = FormNode::Kind::load;
  load.access = access;
  return add(built_.form.last, std::move(load));
}

/// What a statement of the chain computes, once however often it is read.
int32_t FormBuilder::computed(const Statement& producer, const FormAccess& access,
                              int32_t (FormBuilder::*tree)(const Statement&, int32_t,
                                                           const Binding&)) {
  const Binding inner = bind_results(producer, access.subscripts);
  if (const auto known = made_.find(access.tensor); known != made_.end()) {
    if (known->second.at == access.subscripts) return known->second.node;
    refuse(fmt::format("{} is read at two places", text_of(access.tensor)));
  }
  built_.members.insert(access.tensor);
  const auto last = static_cast<int32_t>(producer.nodes.size()) - 1;
  const int32_t node = (this->*tree)(producer, last, inner);
  made_[access.tensor] = {access.subscripts, node};
  return node;
}

/// The loops of a sum that have more than one step; where there are none, the first: a sum of one
/// product is a product all the same.
std::vector<size_t> FormBuilder::loops_of_sum(const Statement& s,
                                              const std::vector<IndexId>& over) const {
  std::vector<size_t> loops;
  for (size_t i = 0; i < over.size(); ++i) {
    if (extent_of_index(s, over[i]) != 1) loops.push_back(i);
  }
  return loops.empty() ? std::vector<size_t>{0} : loops;
}

void FormBuilder::second_product() {
  const Statement& s = *second_->statement;
  for (const IndexId index : second_->over) second_->binding[index] = Affine{};
  for (const size_t i : loops_of_sum(s, second_->over)) {
    const IndexId index = second_->over[i];
    const int digit = new_digit(s, index, Dim::n);
    n_digits_.insert(digit);
    second_->binding[index].terms.emplace_back(digit, 1);
  }
  const Expr& left = s.nodes[static_cast<size_t>(second_->left)];
  const Expr& right = s.nodes[static_cast<size_t>(second_->right)];
  const BuiltForm before = built_;
  const std::map<TensorId, ChainStatement> made = made_;
  std::string why;
  for (const bool swapped : {false, true}) {
    try {
      if (try_second(swapped ? right : left, swapped ? left : right)) return;
    } catch (const Refused& refused) {
      if (!refused.why.empty()) why = refused.why;
    }
    built_ = before;
    made_ = made;
    k_digits_.clear();
  }
  refuse(why);
}

bool FormBuilder::try_second(const Expr& c, const Expr& d) {
  const Statement* producer = statement_of_(c.tensor);
  if (producer == nullptr) {
    const bool given = is_given(c.tensor);
    refuse(given ? "" : fmt::format("{} {}", text_of(c.tensor), why_not_inner(c.tensor)));
  }
  const FormAccess c_access = access_of(c, second_->binding);
  built_.form.c = c.tensor;
  built_.form.d = access_of(d, second_->binding);
  const std::set<int> rows = digits_of(c_access);
  const std::set<int> columns = digits_of(built_.form.d);
  for (size_t digit = 0; digit < built_.form.digits.size(); ++digit) {
    const int id = static_cast<int>(digit);
    const bool in_c = rows.count(id) != 0, in_d = columns.count(id) != 0;
    if (n_digits_.count(id) != 0) {
      if (!in_c || !in_d) refuse("the second product sums over a loop that one operand lacks");
      continue;
    }
    if (in_c && in_d) {
      refuse(
          fmt::format("both operands of the second product have the loop {} (batches, heads or "
                      "experts)",
                      built_.form.digits[digit].name));
    }
    if (!in_c && !in_d) refuse("a loop of the result is in neither operand");
    built_.form.digits[digit].dim = in_c ? Dim::m : Dim::l;
  }
  built_.members.insert(c.tensor);
  const int32_t root = first_tree(*producer, static_cast<int32_t>(producer->nodes.size()) - 1,
                                  bind_results(*producer, c_access.subscripts));
  if (built_.form.b.empty()) return false;
  if (built_.form.b.size() > 2) refuse("more than two products make C");
  check_loaded();
  // The root is the last node, so that maps end with it.
  return root == static_cast<int32_t>(built_.form.first.size()) - 1;
}

int32_t FormBuilder::first_tree(const Statement& s, int32_t at, const Binding& binding) {
  const Expr& expr = s.nodes[static_cast<size_t>(at)];
  FormNode node;
  switch (expr.kind) {
    case Expr::Kind::constant:
      node.kind = FormNode::Kind::constant;
      node.constant = expr.constant;
      return add(built_.form.first, std::move(node));
    case Expr::Kind::reduce: {
      const auto product = product_of(s, expr, binding);
      if (!product) {
        refuse(
            fmt::format("{}, between the two products, is a reduction (as of a softmax) and "
                        "no product of tensors",
                        text_of(s.result)));
      }
      return first_product(*product);
    }
    case Expr::Kind::access:
      return first_access(s, expr, binding);
    case Expr::Kind::apply:
      break;
    default:
      refuse("");
  }
  node.kind = FormNode::Kind::map;
  node.op = expr.op;
  if (expr.op != Op::add) built_.ops.insert(expr.op);
  for (const int32_t child : expr.children) node.children.push_back(first_tree(s, child, binding));
  return add(built_.form.first, std::move(node));
}

/// A vector over N, or what comes from the products.
int32_t FormBuilder::first_access(const Statement&, const Expr& node, const Binding& binding) {
  const FormAccess access = access_of(node, binding);
  const std::set<int> digits = digits_of(access);
  const Statement* producer = statement_of_(node.tensor);
  const bool vector = !digits.empty() && only(digits, {Dim::n});
  const bool one_row = extent_of(built_.form, Dim::m) == 1;
  if (vector && (producer == nullptr || !one_row)) {
    FormNode load;
    load.kind = FormNode::Kind::load;
    load.access = access;
    ++built_.first_loads;
    return add(built_.form.first, std::move(load));
  }
  if (producer == nullptr) {
    refuse(fmt::format("{}, between the two products, {}", text_of(node.tensor),
                       why_not_inner(node.tensor)));
  }
  return computed(*producer, access, &FormBuilder::first_tree);
}

int32_t FormBuilder::first_product(const Product& product) {
  if (built_.form.b.size() == 2) refuse("more than two products make C");
  const Statement& s = *product.statement;
  std::vector<size_t> order = loops_of_sum(s, product.over);
  if (order.size() > 4) refuse("the first product sums over more than four loops");
  const Expr& left = s.nodes[static_cast<size_t>(product.left)];
  const Expr& right = s.nodes[static_cast<size_t>(product.right)];
  do {
    for (const bool swapped : {false, true}) {
      if (!try_first(product, swapped ? right : left, swapped ? left : right, order)) continue;
      FormNode node;
      node.kind = FormNode::Kind::product;
      node.product = static_cast<int>(built_.form.b.size()) - 1;
      return add(built_.form.first, std::move(node));
    }
  } while (!k_digits_.empty() && std::next_permutation(order.begin(), order.end()));
  refuse(
      fmt::format("the product in {} is not one of rows by columns (batches, heads or experts), or "
                  "its operands are themselves products: a third one",
                  text_of(s.result)));
}

/// The second branch's loops must be the first one's in some order, so that both read the same A.
bool FormBuilder::try_first(const Product& product, const Expr& a, const Expr& b,
                            const std::vector<size_t>& order) {
  const Statement& s = *product.statement;
  const bool again = !built_.form.b.empty();
  if (again && order.size() != k_digits_.size()) return false;
  const std::vector<FormDigit> digits = built_.form.digits;
  Binding binding = product.binding;
  for (const IndexId index : product.over) binding[index] = {};
  std::vector<int> made;
  for (size_t i = 0; i < order.size(); ++i) {
    const IndexId index = product.over[order[i]];
    const int digit = again ? k_digits_[i] : new_digit(s, index, Dim::k);
    made.push_back(digit);
    if (built_.form.digits[static_cast<size_t>(digit)].extent != extent_of_index(s, index)) {
      return false;
    }
    binding[index] = Affine{{{digit, 1}}, 0};
  }
  const FormAccess a_access = access_of(a, binding);
  const FormAccess b_access = access_of(b, binding);
  const std::set<int> rows = digits_of(a_access), columns = digits_of(b_access);
  const bool shaped = only(rows, {Dim::m, Dim::k}) && only(columns, {Dim::k, Dim::n}) &&
                      std::any_of(columns.begin(), columns.end(),
                                  [&](int digit) { return n_digits_.count(digit) != 0; }) &&
                      built_.members.count(a.tensor) + built_.members.count(b.tensor) == 0;
  if (!shaped || (again && !same(a_access, built_.form.a))) {
    built_.form.digits = digits;
    return false;
  }
  if (!again) {
    k_digits_ = made;
    built_.form.a = a_access;
    built_.windows = !std::all_of(a_access.subscripts.begin(), a_access.subscripts.end(), is_plain);
  }
  built_.form.b.push_back(b_access);
  return true;
}

/// Bytes of an element of a tensor, which is loaded or stored.
int64_t FormBuilder::bytes_of(TensorId tensor) {
  const int64_t bytes = element_bytes(program_.tensors[static_cast<size_t>(tensor)].type);
  built_.form.element_bytes[tensor] = bytes;
  return bytes;
}

void FormBuilder::settle_element_bytes() {
  ChainForm& form = built_.form;
  form.bytes.a = bytes_of(form.a.tensor);
  form.bytes.b = bytes_of(form.b[0].tensor);
  form.bytes.d = bytes_of(form.d.tensor);
  form.bytes.e = bytes_of(form.store.tensor);
  form.bytes.c = element_bytes(program_.tensors[static_cast<size_t>(form.c)].type);
  for (const FormAccess& b : form.b) {
    if (bytes_of(b.tensor) != form.bytes.b) {
      refuse(fmt::format("{} has elements of another size than {}", text_of(b.tensor),
                         text_of(form.b[0].tensor)));
    }
  }
  settle_load_bytes();
}

/// Settles the element sizes of the vectors that C takes, of the vectors that E takes and of the
/// tensors that E takes: each of the three has one size.
void FormBuilder::settle_load_bytes() {
  ChainForm& form = built_.form;
  TensorId c_vector = -1, e_vector = -1, e_tensor = -1;
  const auto settle = [&](TensorId tensor, TensorId& first, int64_t& bytes) {
    if (first < 0) bytes = bytes_of(first = tensor);
    if (bytes_of(tensor) == bytes) return;
    refuse(fmt::format("{} has elements of another size than {}", text_of(tensor), text_of(first)));
  };
  for (const FormNode& node : form.first) {
    if (node.kind == FormNode::Kind::load) settle(node.access.tensor, c_vector, form.bytes.bias0);
  }
  for (const FormNode& node : form.last) {
    if (node.kind != FormNode::Kind::load) continue;
    node.of_size_e ? settle(node.access.tensor, e_tensor, form.bytes.residual)
                   : settle(node.access.tensor, e_vector, form.bytes.bias1);
  }
}

}  // namespace fuseflow::cluster
