// Builds the form of a chain that ends in a given statement, or says that there is none. The part
// of recognition that reads expressions.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>

#include "cluster/chain/form.h"
#include "ir/program.h"

namespace fuseflow::cluster {

/// What a form was made of.
struct BuiltForm {
  ChainForm form;
  std::set<TensorId> members;    ///< tensors whose statements belong to the chain
  std::multiset<Op> ops;         ///< between the products, additions left out
  std::multiset<Op> last_ops;    ///< ... after the second
  bool last_read_again = false;  ///< what a statement after the second computes is read twice
  bool windows = false;          ///< A is read through windows: a convolution
  int first_loads = 0;           ///< vectors over N
  int last_vectors = 0, last_tensors = 0;
};

class FormBuilder {
 public:
  /// `statement_of`: the statement that computes a tensor and may belong to a chain, or null.
  FormBuilder(const Program& program, std::function<const Statement*(TensorId)> statement_of)
      : program_(program), statement_of_(std::move(statement_of)) {}

  /// The chain whose second product is in the statement of `e`, followed by the elementwise
  /// statements of `tail`, in the order of the program; the last gives the result.
  std::optional<BuiltForm> build(const Statement& e, const std::vector<const Statement*>& tail);

  /// Why the last build gave nothing although there are two products; empty where there are not.
  const std::string& why() const { return why_; }

 private:
  struct Refused {
    std::string why;
  };
  [[noreturn]] static void refuse(std::string why) { throw Refused{std::move(why)}; }
  std::string text_of(TensorId tensor) const;
  bool is_given(TensorId tensor) const;
  std::string why_not_inner(TensorId tensor) const;
  using Affine = TileSubscript;
  using Binding = std::map<IndexId, Affine>;
  struct Product {
    const Statement* statement = nullptr;
    int32_t left = -1, right = -1;
    std::vector<IndexId> over;
    Binding binding;
  };

  BuiltForm build_all(const Statement& e, const std::vector<const Statement*>& tail);
  int64_t extent_of_index(const Statement& s, IndexId index) const;
  int new_digit(const Statement& s, IndexId index, Dim dim);
  Binding bind_results(const Statement& s, const std::vector<Affine>& subscripts) const;
  FormAccess access_of(const Expr& node, const Binding& binding) const;
  std::set<int> digits_of(const FormAccess& access) const;
  bool only(const std::set<int>& digits, std::initializer_list<Dim> dims) const;
  void require_dense(TensorId tensor) const;
  static std::optional<Product> product_of(const Statement& s, const Expr& node,
                                           const Binding& binding);

  int32_t last_tree(const Statement& s, int32_t at, const Binding& binding);
  int32_t last_access(const Expr& node, const Binding& binding);
  int32_t computed(const Statement& producer, const FormAccess& access,
                   int32_t (FormBuilder::*tree)(const Statement&, int32_t, const Binding&));
  std::vector<size_t> loops_of_sum(const Statement& s, const std::vector<IndexId>& over) const;
  void second_product();
  bool try_second(const Expr& c, const Expr& d);
  int32_t first_tree(const Statement& s, int32_t at, const Binding& binding);
  int32_t first_access(const Statement& s, const Expr& node, const Binding& binding);
  int32_t first_product(const Product& product);
  bool try_first(const Product& product, const Expr& a, const Expr& b,
                 const std::vector<size_t>& order);
  static int32_t add(std::vector<FormNode>& nodes, FormNode node);
  void check_loaded() const;
  void settle_last_loads();
  void settle_element_bytes();
  int64_t bytes_of(TensorId tensor);
  void settle_load_bytes();

  const Program& program_;
  std::function<const Statement*(TensorId)> statement_of_;
  BuiltForm built_;
  std::set<TensorId> tail_tensors_;  ///< E and what follows it
  std::optional<Product> second_;
  std::string why_;
  /// What a statement of the chain computes, and where it is read.
  struct ChainStatement {
    std::vector<Affine> at;
    int32_t node = -1;
  };
  std::map<TensorId, ChainStatement> made_;
  std::vector<int> k_digits_;
  std::set<int> n_digits_;
};

}  // namespace fuseflow::cluster
