#include "ir/statement_parser.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "ir/foreign.h"
#include "ir/names.h"
#include "ir/statement_rules.h"

namespace fuseflow::ir {

namespace {

constexpr std::string_view kStatementExample = "%y[i] = sum(j) %a[i, j] * %x[j]";
/// Parentheses and calls nested deeper than this are refused before they exhaust the stack.
constexpr int kMaxNesting = 300;

class StatementParser {
 public:
  StatementParser(Cursor& cursor, const Program& program, const TensorNames& names)
      : c_(cursor), program_(program), names_(names) {}

  Statement parse() {
    const Token first = c_.peek();
    s_.where = c_.location(first);
    s_.result = tensor_of(c_.next());
    if (c_.at("[")) parse_result_indices();
    check_brackets(first);
    check_left_rank();
    expect_definition();
    parse_right_side();
    s_.where.length = static_cast<int>(
        std::min<size_t>(s_.where.line == c_.peek().line ? 1 : c_.last_end() - first.begin, 1000));
    if (c_.accept("from")) parse_model_node();
    if (!unknown_.empty()) throw Failure{};  // each is reported
    const StatementError report = [&](int node, std::string message) {
      c_.error(node < 0 ? c_.location(first) : places_[node], std::move(message));
    };
    if (!wrong_rank_) {
      infer_extents(program_, s_, report);
      check_statement(program_, s_, report);
    }
    return std::move(s_);
  }

 private:
  struct UnknownIndex {
    Location place;
    std::string name;
    std::string near;      ///< advice: a name that is near
    bool reduced = false;  ///< it stands within a reduction
  };

  struct Nesting {
    explicit Nesting(StatementParser& parser) : parser_(parser) {
      if (++parser_.nesting_ > kMaxNesting) {
        parser_.c_.fail(parser_.c_.peek(),
                        fmt::format("the expression is nested deeper than {} parentheses, signs, "
                                    "calls and reductions, expected it to be split into several "
                                    "statements",
                                    kMaxNesting));
      }
    }
    ~Nesting() { --parser_.nesting_; }
    StatementParser& parser_;
  };

  void expect_definition() {
    if (c_.at("+") && c_.peek(1).is("=")) {
      c_.unexpected("'=': a statement defines all of its tensor, sums are written",
                    kStatementExample);
    }
    if (c_.at("==")) c_.unexpected("'='", kStatementExample);
    c_.expect("=", kStatementExample);
  }

  /// Also reports the indices that nothing declares, which are known when it has been read.
  void parse_right_side() {
    right_side_ = c_.last_end();
    try {
      parse_comparison();
      check_end();
    } catch (const Failure&) {
      report_unknown_indices("");
      throw;
    }
    report_unknown_indices(sum_over());
  }

  /// What may follow an expression: the end of its line, the next statement or schedule line, `}`.
  void check_end() {
    const Token& token = c_.peek();
    if (token.first_on_line || token.is("}") || begins_statement()) return;
    if (token.kind == TokenKind::end || token.kind == TokenKind::invalid) return;
    const bool word = token.kind == TokenKind::identifier;
    const bool operation = word && (find_op(token.text) || c_.peek(1).is("("));
    if (word && !operation) return;  // `from`, a line of the schedule
    const bool divided = token.kind == TokenKind::tensor || token.kind == TokenKind::number ||
                         token.is("(") || (operation && c_.peek(1).is("("));
    const std::string_view meant = meant_after_expression(token.text);
    if (divided) {
      c_.unexpected("an operator before it, or the end of the line", "2 * %x[i]");
    } else if (operation) {
      c_.unexpected("an operator or the end of the line", fmt::format("{}(a, b)", token.text));
    } else if (token.kind == TokenKind::symbol && !meant.empty()) {
      c_.unexpected(fmt::format("an operator or the end of the line; {}", meant), "");
    }
    c_.unexpected("an operator or the end of the line", kStatementExample);
  }

  /// `%t =` or `%t[..] =`, on the same line as what is before it.
  bool begins_statement() const {
    if (c_.peek().kind != TokenKind::tensor) return false;
    size_t at = 1;
    if (c_.peek(at).is("[")) {
      while (!c_.peek(at).is("]") && !c_.peek(at).first_on_line &&
             c_.peek(at).kind != TokenKind::end) {
        ++at;
      }
      ++at;
    }
    return c_.peek(at).is("=");
  }

  /// The tensor of a name. A name that nothing declares is reported and gives -1: parsing goes on,
  /// so that the next one is reported, too.
  TensorId tensor_of(const Token& token) {
    if (token.kind == TokenKind::tensor && names_.find(token.text) == names_.end() &&
        !unknown_.insert("%" + token.text).second) {
      return -1;
    }
    try {
      return resolve_tensor(c_, names_, token);
    } catch (const Failure&) {
      if (token.kind != TokenKind::tensor) throw;
      return -1;
    }
  }

  int32_t add(Expr expression, const Token& place) {
    s_.nodes.push_back(std::move(expression));
    places_.push_back(c_.location(place));
    return static_cast<int32_t>(s_.nodes.size()) - 1;
  }

  int32_t apply(Op op, std::vector<int32_t> operands, const Token& place) {
    Expr e;
    e.kind = Expr::Kind::apply;
    e.op = op;
    e.children = std::move(operands);
    return add(std::move(e), place);
  }

  int32_t constant(float value, const Token& place) {
    Expr e;
    e.constant = value;
    return add(std::move(e), place);
  }

  /// `from MatMul("/layers.0/MatMul")`, after the word.
  void parse_model_node() {
    const std::string example = "from MatMul(\"/layers.0/MatMul\")";
    const Token token = c_.peek();
    s_.from.op = c_.expect_name("an operator of the model", example);
    c_.expect("(", example);
    s_.from.name = c_.expect_string("the name of a node of the model", example);
    c_.expect(")", example);
    if (s_.from.op.empty()) c_.fail(token, "the operator has no name, expected e.g. `MatMul`");
  }

  void parse_result_indices() {
    c_.expect("[", kStatementExample);
    while (!c_.at("]")) {
      s_.result_indices.push_back(declare_index());
      if (!c_.accept(",")) break;
    }
    if (!c_.accept("]")) c_.missing("',' or ']' after an index", kStatementExample);
  }

  /// After a tensor and its subscripts, if it has any: other ways to write these.
  void check_brackets(const Token& tensor) {
    if (c_.peek().first_on_line) return;
    const std::string name = quote_if_needed(tensor.text);
    if (c_.at("[")) {
      c_.unexpected("one pair of brackets for all subscripts", fmt::format("%{}[i, j]", name));
    }
    if (c_.at("(")) {
      c_.unexpected("the subscripts of a tensor in brackets", fmt::format("%{}[i, j]", name));
    }
  }

  /// `i` or `i:5`.
  IndexId declare_index() {
    const Token token = c_.peek();
    Index index;
    index.name = c_.expect_name("an index name", kStatementExample);
    if (token.is("inf") || token.is("nan")) c_.fail(token, "inf and nan cannot name an index");
    if (c_.accept(":")) {
      index.extent = c_.expect_integer_in(0, INT64_MAX, "an extent", "sum(k:3)");
      index.stated = true;
    }
    for (const Index& other : s_.indices) {
      if (other.name == index.name) {
        c_.fail(token, fmt::format("index {} is defined twice in one statement, expected another "
                                   "name for the second",
                                   index.name));
      }
    }
    s_.indices.push_back(std::move(index));
    return static_cast<IndexId>(s_.indices.size()) - 1;
  }

  IndexId use_index() {
    const Token token = c_.peek();
    const std::string name = c_.expect_name("an index", "%x[i, 2*j + 1]");
    std::vector<std::string> known;
    for (size_t i = 0; i < s_.indices.size(); ++i) {
      if (s_.indices[i].name == name) return static_cast<IndexId>(i);
      known.push_back(s_.indices[i].name);
    }
    if (unknown_.insert(name).second && !wrong_rank_) {
      unknown_indices_.push_back(
          {c_.location(token), name, did_you_mean_name(name, known, ""), reductions_ > 0});
    }
    return -1;
  }

  void report_unknown_indices(const std::string& advice) {
    for (const UnknownIndex& unknown : unknown_indices_) {
      const std::string where = bound_later(unknown.name);
      const bool sums = may_be_summed(unknown);
      c_.error(unknown.place,
               fmt::format("unknown index {}, expected an index of the left side or of a "
                           "reduction around{}{}{}",
                           unknown.name, unknown.near, where, sums ? advice : ""));
    }
    unknown_indices_.clear();
  }

  /// Whether what lacks may be a sum over the index, and no other name was meant.
  bool may_be_summed(const UnknownIndex& unknown) const {
    return !unknown.reduced && unknown.near.empty() && bound_later(unknown.name).empty();
  }

  /// Where a reduction binds the index elsewhere in the statement: its body does not reach.
  std::string bound_later(const std::string& index) const {
    for (const Index& bound : s_.indices) {
      if (bound.name != index) continue;
      return fmt::format(
          "; the reduction over {} binds it only in the product that follows it, "
          "expected it before all that use {}",
          index, index);
    }
    return "";
  }

  /// How to sum over the indices that nothing declares: all of them that are in no reduction, which
  /// may have another one.
  std::string sum_over() const {
    std::vector<std::string> indices;
    for (const UnknownIndex& unknown : unknown_indices_) {
      if (may_be_summed(unknown)) indices.push_back(quote_if_needed(unknown.name));
    }
    constexpr size_t kMostShown = 60;
    const std::string& text = c_.source().text;
    std::string body =
        text.substr(right_side_, text.find_first_of("#\r\n}", right_side_) - right_side_);
    body.erase(0, body.find_first_not_of(" \t"));
    body.erase(body.find_last_not_of(" \t") + 1);
    if (body.empty() || body.size() > kMostShown) body = "...";
    const bool sum = body.find_first_of("+-") != std::string::npos;  // of products a reduction is
    return fmt::format("; to sum over {}: `= sum({}) {}`", indices.size() > 1 ? "them" : "it",
                       fmt::join(indices, ", "), sum ? "(" + body + ")" : body);
  }

  int32_t parse_comparison() {
    const int32_t left = parse_sum();
    for (const Op op : {Op::eq, Op::ne, Op::le, Op::ge, Op::lt, Op::gt}) {
      if (!c_.at(op_info(op).symbol)) continue;
      const Token place = c_.next();
      const int32_t right = parse_sum();
      const int32_t node = apply(op, {left, right}, place);
      for (const Op again : {Op::eq, Op::ne, Op::le, Op::ge, Op::lt, Op::gt}) {
        if (c_.at(op_info(again).symbol)) {
          c_.fail(c_.peek(), "comparisons do not chain, expected parentheses: `(a < b) == c`");
        }
      }
      return node;
    }
    return left;
  }

  int32_t parse_sum() {
    int32_t left = parse_product();
    while (c_.at("+") || c_.at("-")) {
      const Token place = c_.next();
      const int32_t right = parse_product();
      left = apply(place.text == "+" ? Op::add : Op::sub, {left, right}, place);
    }
    return left;
  }

  int32_t parse_product() {
    int32_t left = parse_unary();
    while (c_.at("*") || c_.at("/")) {
      const Token place = c_.next();
      const int32_t right = parse_unary();
      left = apply(place.text == "*" ? Op::mul : Op::div, {left, right}, place);
    }
    return left;
  }

  int32_t parse_unary() {
    const Nesting nesting(*this);
    const Token token = c_.peek();
    if (c_.at_float()) return constant(c_.expect_float("a number", "0.5"), token);
    if (c_.accept("-")) return apply(Op::neg, {parse_unary()}, token);
    if (c_.accept("(")) {
      const int32_t node = parse_comparison();
      if (!c_.accept(")")) expect_closed("')'", c_.location(token));
      return node;
    }
    if (token.kind == TokenKind::tensor) return parse_access();
    if (token.kind == TokenKind::identifier) return parse_named();
    c_.missing("an expression", kStatementExample);
  }

  /// Fails at what stands where an operator or one of `closing` would, which closes what `opening`
  /// has opened.
  [[noreturn]] void expect_closed(std::string_view closing, const Location& opening) {
    const std::string_view meant =
        c_.peek().kind == TokenKind::symbol ? meant_after_expression(c_.peek().text) : "";
    const std::string advice = meant.empty() ? "" : fmt::format("; {}", meant);
    const std::string place =
        opening.line == c_.location(c_.peek()).line ? "" : fmt::format("line {}, ", opening.line);
    c_.missing(fmt::format("an operator, or {} for the '(' of {}column {}{}", closing, place,
                           opening.column, advice),
               "");
  }

  int32_t parse_access() {
    const Token token = c_.next();
    Expr e;
    e.kind = Expr::Kind::access;
    e.tensor = tensor_of(token);
    if (c_.accept("[")) {
      while (!c_.at("]")) {
        e.subscripts.push_back(parse_subscript());
        if (!c_.accept(",")) break;
      }
      if (!c_.accept("]")) c_.missing("',' or ']' after a subscript", "%x[i, 2*j + 1]");
    }
    check_brackets(token);
    return add(std::move(e), token);
  }

  void add_term(Subscript& subscript, IndexId index, int64_t coefficient, const Token& place) {
    for (auto& [known, factor] : subscript.terms) {
      if (known != index) continue;
      if (__builtin_add_overflow(factor, coefficient, &factor)) overflow(place);
      return;
    }
    subscript.terms.emplace_back(index, coefficient);
  }

  [[noreturn]] void overflow(const Token& place) {
    c_.fail(place, "the subscript exceeds 64 bits, expected smaller numbers");
  }

  Subscript parse_subscript() {
    Subscript subscript;
    bool negative = c_.accept("-");
    do {
      parse_term(subscript, negative);
      negative = c_.at("-");
    } while (c_.accept("+") || c_.accept("-"));
    std::erase_if(subscript.terms, [](const auto& term) { return term.second == 0; });
    std::sort(subscript.terms.begin(), subscript.terms.end());
    return subscript;
  }

  void parse_term(Subscript& subscript, bool negative) {
    const Token place = c_.peek();
    if (place.kind != TokenKind::number) {
      const IndexId index = use_index();
      int64_t factor = 1;
      if (c_.accept("*")) {
        factor = c_.expect_integer_in(-INT64_MAX, INT64_MAX, "a coefficient", "%x[2*i + 1]");
      }
      return add_term(subscript, index, negative ? -factor : factor, place);
    }
    const int64_t number =
        c_.expect_integer_in(0, INT64_MAX, "an integer", "%x[2*i + 1]") * (negative ? -1 : 1);
    if (c_.accept("*")) return add_term(subscript, use_index(), number, place);
    if (__builtin_add_overflow(subscript.offset, number, &subscript.offset)) overflow(place);
  }

  /// A call, a coordinate or a reduction; `max(a, b)` is a call and `max(j) e` a reduction.
  int32_t parse_named() {
    const Token token = c_.peek();
    const auto reduction = find_reduction(token.text);
    const auto op = find_op(token.text);
    if (!c_.peek(1).is("(")) {
      if (reduction || op || token.is("coordinate")) {
        c_.next();
        const std::string call = fmt::format("{}(a, b)", token.text);
        const std::string sum = fmt::format("{}(j) %a[i, j]", token.text);
        c_.expect("(", !reduction ? call : op ? call + "` or `" + sum : sum);
      }
      if (c_.peek(1).is("[") || names_.contains(token.text)) {
        c_.fail(token, fmt::format("unexpected '{0}', expected an operand; a tensor's name begins "
                                   "with '%': `%{0}`",
                                   quote_if_needed(token.text)));
      }
      check_reduction_in_name(token);
      c_.fail(token, fmt::format("unexpected {}, expected an operand: a number, %tensor[...], or a "
                                 "call such as `relu(...)`; an index as a number is "
                                 "`coordinate({})`",
                                 describe(token), token.text));
    }
    if (token.is("coordinate")) return parse_coordinate();
    if (reduction && (!op || looks_like_reduction())) return parse_reduction(*reduction);
    if (op) return parse_call(*op);
    std::vector<std::string> known = op_names();
    for (const char* name : {"sum", "mean", "prod", "coordinate"}) known.emplace_back(name);
    c_.unknown(token, "operator", known, foreign_operators());
  }

  /// `sum_j`: an index that is glued to its reduction.
  void check_reduction_in_name(const Token& token) {
    const size_t glue = token.text.find('_');
    if (glue == std::string::npos || !find_reduction(token.text.substr(0, glue))) return;
    std::string indices = token.text.substr(glue + 1);
    for (size_t at = indices.find('_'); at != std::string::npos; at = indices.find('_')) {
      indices.replace(at, 1, ", ");
    }
    c_.fail(token, fmt::format("unexpected {}, expected the indices of a reduction in parentheses: "
                               "`{}({}) ...`",
                               describe(token), token.text.substr(0, glue), indices));
  }

  int32_t parse_coordinate() {
    const Token token = c_.next();
    c_.expect("(", "coordinate(i)");
    Expr e;
    e.kind = Expr::Kind::coordinate;
    e.index = use_index();
    c_.expect(")", "coordinate(i)");
    return add(std::move(e), token);
  }

  /// After the word: ( name [: int] {, name [: int]} )
  bool looks_like_reduction() const {
    size_t at = 2;
    for (;;) {
      const Token& name = c_.peek(at);
      const bool is_name = name.kind == TokenKind::identifier || name.kind == TokenKind::string;
      if (!is_name || name.is("inf") || name.is("nan")) return false;
      ++at;
      if (c_.peek(at).is(":")) at += 2;
      if (c_.peek(at).is(")")) return true;
      if (!c_.peek(at).is(",")) return false;
      ++at;
    }
  }

  int32_t parse_reduction(Reduction reduction) {
    const Token token = c_.next();
    c_.expect("(", "sum(j) %a[i, j]");
    Expr e;
    e.kind = Expr::Kind::reduce;
    e.reduction = reduction;
    do {
      const TokenKind kind = c_.peek().kind;
      if (kind != TokenKind::identifier && kind != TokenKind::string) {
        c_.unexpected("the name of an index; what is reduced follows after the parentheses",
                      "sum(j) %a[i, j]");
      }
      e.over.push_back(declare_index());
    } while (c_.accept(","));
    if (!c_.accept(")")) c_.missing("',' or ')' after a reduction index", "sum(j, k) %a[i, j, k]");
    if (c_.at(":")) c_.unexpected("what is reduced right after ')'", "sum(j) %a[i, j]");
    ++reductions_;
    e.children = {parse_product()};
    --reductions_;
    return add(std::move(e), token);
  }

  int32_t parse_call(Op op) {
    const Token token = c_.next();
    const Location opening = c_.location();
    c_.expect("(", "relu(%x[i])");
    std::vector<int32_t> operands;
    while (!c_.at(")")) {
      operands.push_back(parse_comparison());
      if (!c_.accept(",")) break;
    }
    if (!c_.accept(")")) expect_closed("',' or ')'", opening);
    const int arity = op_info(op).arity;
    if (static_cast<int>(operands.size()) != arity) {
      const bool reduces = operands.size() == 1 && find_reduction(token.text).has_value();
      c_.fail(token, fmt::format("{} takes {} operand{}, got {}{}", token.text, arity,
                                 arity == 1 ? "" : "s", operands.size(),
                                 reduces ? fmt::format("; a reduction names its index, e.g. `{}(j) "
                                                       "%a[i, j]`",
                                                       token.text)
                                         : ""));
    }
    return apply(op, std::move(operands), token);
  }

  /// The left side must be usable before extents can be looked at, and indices are missed.
  void check_left_rank() {
    if (s_.result < 0) return;
    const size_t rank = program_.tensors[s_.result].shape.size();
    wrong_rank_ = s_.result_indices.size() != rank;
    if (!wrong_rank_) return;
    c_.error(s_.where, fmt::format("%{} has rank {}, got {} ind{} on the left side, expected {}",
                                   quote_if_needed(program_.tensors[s_.result].name), rank,
                                   s_.result_indices.size(),
                                   s_.result_indices.size() == 1 ? "ex" : "ices", rank));
  }

  Cursor& c_;
  const Program& program_;
  const TensorNames& names_;
  Statement s_;
  std::vector<Location> places_;   ///< of each node
  std::set<std::string> unknown_;  ///< names that nothing declares, of tensors with their %
  std::vector<UnknownIndex> unknown_indices_;
  bool wrong_rank_ = false;  ///< of the left side; it is reported
  size_t right_side_ = 0;    ///< where it begins in the source
  int reductions_ = 0;       ///< around what is parsed
  int nesting_ = -1;         ///< what is around the operand at hand; -1: no operand is read
};

}  // namespace

TensorId resolve_tensor(Cursor& cursor, const TensorNames& names, const Token& token) {
  if (token.kind != TokenKind::tensor) {
    cursor.fail(token, fmt::format("unexpected {}, expected a tensor, e.g. `%x`", describe(token)));
  }
  const auto found = names.find(token.text);
  if (found != names.end()) return found->second;
  cursor.give_up_if_lost(token);
  std::vector<std::string> known;
  for (const auto& [name, id] : names) known.push_back(name);
  const std::string near = did_you_mean_name(token.text, known, "%");
  const std::string name = token.text.size() < 60 ? "%" + quote_if_needed(token.text) : "%x";
  const std::string declared =
      near.empty() ? fmt::format(", e.g. `temp {}: f32[34, 16] dense,dense`", name) : "";
  cursor.fail(token, fmt::format("unknown tensor %{}{}; expected one declared above{}",
                                 quote_if_needed(token.text.substr(0, 60)), near, declared));
}

Statement parse_statement(Cursor& cursor, const Program& program, const TensorNames& names) {
  return StatementParser(cursor, program, names).parse();
}

}  // namespace fuseflow::ir
