#include "ir/parse.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "ir/cursor.h"
#include "ir/foreign.h"
#include "ir/graph_parser.h"
#include "ir/names.h"
#include "ir/print.h"
#include "ir/schedule_parser.h"
#include "ir/statement_parser.h"
#include "ir/verify.h"
#include "support/diagnostics.h"
#include "support/input_kind.h"
#include "support/source_lines.h"
#include "support/text.h"

namespace fuseflow {

namespace ir {
namespace {

constexpr std::string_view kReferenceExample = "reference { %y[i] = relu(%x[i]) }";
constexpr std::string_view kTensorExample = "input %x: f32[34, 16] dense,dense = file(\"x.npy\")";
const std::vector<std::string> kTopWords = {"program", "dim",    "input",  "const",
                                            "temp",    "result", "region", "reference"};
const std::vector<std::string> kRegionWords = {"order", "place", "parallel", "join",
                                               "plan",  "graph", "barriers"};

bool is_one_of(const Token& token, const std::vector<std::string>& words) {
  return std::any_of(words.begin(), words.end(),
                     [&](const std::string& word) { return token.is(word); });
}

class ProgramParser {
 public:
  ProgramParser(Cursor& cursor) : c_(cursor) {}

  Program parse() {
    parse_version();
    while (!c_.at_end()) {
      const size_t mark = c_.mark();
      const size_t errors = c_.errors();
      try {
        parse_item();
      } catch (const Failure&) {
        give_up(mark);
      }
      recovered_ = c_.errors() != errors;
    }
    return std::move(p_);
  }

 private:
  static bool begins_item(const Token& token) {
    return token.first_on_line && is_one_of(token, kTopWords);
  }

  /// Skips the declaration or region that began at `mark`, and loses what it may have declared.
  void give_up(size_t mark) {
    c_.recover(begins_item);
    while (c_.accept("}")) c_.recover(begins_item);
    const Token& first = c_.token_at(mark);
    const bool symbol = first.kind != TokenKind::identifier && first.kind != TokenKind::invalid;
    const bool region = first.is("region") || c_.token_at(mark + 1).kind == TokenKind::region;
    if (symbol || region || first.is("program")) return;
    const bool dimension = first.is("dim");
    const bool tensor = c_.lose_names(mark, TokenKind::tensor);
    if (!tensor && !dimension) c_.lose_all(TokenKind::tensor);
    const bool tensor_only = is_one_of(first, {"input", "const", "temp", "result"});
    if (tensor_only) return;
    c_.lose_names(mark + 1, TokenKind::string);
    if (!c_.lose_names(mark + 1, TokenKind::identifier) && dimension) {
      c_.lose_all(TokenKind::identifier);
    }
  }

  void parse_version() {
    if (!c_.at("fuseflow")) {
      if (c_.peek().kind == TokenKind::invalid) throw Failure{};  // reported
      c_.error(c_.location(),
               fmt::format("unexpected {}, expected the version line, e.g. `fuseflow {}`",
                           describe(c_.peek()), kTextVersion));
      throw Failure{};  // not an IR file: one message is enough
    }
    c_.next();
    const Token token = c_.peek();
    const int64_t version = c_.expect_integer_in(1, INT64_MAX, "a version", "fuseflow 1");
    if (version > kTextVersion) {
      c_.fail(token,
              fmt::format("the text has version {}, expected at most {}: a newer fuseflow wrote "
                          "it",
                          version, kTextVersion));
    }
  }

  void parse_item() {
    const Token token = c_.peek();
    if (token.is("program")) return parse_name();
    if (token.is("dim")) return parse_dim();
    if (token.is("region")) return parse_region();
    if (token.is("reference")) return parse_reference();
    for (const Role role : {Role::input, Role::constant, Role::temporary, Role::result}) {
      if (token.is(role_name(role))) return parse_tensor(role);
    }
    if (token.kind == TokenKind::identifier) {
      c_.unknown(token, "keyword", kTopWords, foreign_declarations());
    }
    if (recovered_) throw Failure{};  // what is left of a block that was given up
    if (token.is(";")) c_.unexpected("no sign at the end of a line: a declaration ends there", "");
    c_.unexpected("a declaration or a region", kTensorExample);
  }

  void parse_name() {
    const Token token = c_.next();
    if (named_) c_.fail(token, "the program is named twice, expected one line `program`");
    named_ = true;
    p_.name = c_.expect_name("the program's name", "program \"gcn\"");
    if (!c_.accept("strategy")) return;
    p_.strategy = c_.expect_string("a strategy", "program \"gcn\" strategy \"full\"");
  }

  void parse_dim() {
    c_.next();
    const Token token = c_.peek();
    const std::string name = c_.expect_name("a dimension's name", "dim N = 34");
    c_.expect("=", "dim N = 34");
    int64_t value = -1;
    if (!c_.accept("?")) {
      value = c_.expect_integer_in(0, INT64_MAX, "an extent or '?'", "dim N = 34");
    }
    if (!dims_.emplace(name, value).second) {
      c_.fail(token, fmt::format("dimension {} is defined twice", name));
    }
  }

  void parse_tensor(Role role) {
    c_.next();
    Tensor tensor;
    tensor.role = role;
    const Token token = c_.peek();
    tensor.where = c_.location();
    tensor.name = expect_declared(TokenKind::tensor, '%', "a tensor's name", kTensorExample);
    c_.expect(":", kTensorExample);
    const Token type = c_.peek();
    c_.expect_name("an element type", "f32[34, 16]");
    tensor.type =
        c_.parse_part(type, [](std::string_view text) { return parse_element_type(text); });
    parse_shape(tensor);
    parse_levels(tensor);
    parse_attributes(tensor);
    if (c_.accept("=")) parse_source_text(tensor);
    if (!names_.emplace(tensor.name, static_cast<TensorId>(p_.tensors.size())).second) {
      c_.fail(token, fmt::format("%{} is declared twice, expected another name",
                                 quote_if_needed(tensor.name)));
    }
    p_.tensors.push_back(std::move(tensor));
  }

  /// The name that a declaration gives.
  std::string expect_declared(TokenKind kind, char sigil, std::string_view what,
                              std::string_view example) {
    const Token token = c_.peek();
    const bool bare = token.kind == TokenKind::identifier || token.kind == TokenKind::string;
    if (bare && !token.first_on_line) {
      c_.unexpected(fmt::format("{}, which begins with '{}': `{}{}`", what, sigil, sigil,
                                quote_if_needed(token.text)),
                    "");
    }
    std::string name = c_.expect_sigil(kind, what, example);
    const Token& sign = c_.peek();  // a part of the name?
    const bool glued = sign.kind == TokenKind::symbol && sign.begin == token.end &&
                       (sign.is("-") || sign.is("/") || sign.is("+") || sign.is("*"));
    if (glued) {
      c_.unexpected(fmt::format("a name with other characters than letters, digits, '_' and '.' "
                                "in quotes, `{}\"{}{}..\"`",
                                sigil, name, sign.text),
                    "");
    }
    return name;
  }

  void parse_shape(Tensor& tensor) {
    if (!c_.at("[")) {
      c_.unexpected("'[': a shape and a format, `f32[] scalar` for a number",
                    "f32[34, 16] dense,compressed");
    }
    c_.next();
    while (!c_.at("]")) {
      Extent extent;
      if (c_.peek().kind == TokenKind::number) {
        extent.value = c_.expect_integer_in(0, INT64_MAX, "an extent", "f32[34, N]");
      } else {
        extent = parse_symbol();
      }
      tensor.shape.push_back(std::move(extent));
      if (!c_.accept(",")) break;
    }
    if (!c_.accept("]")) c_.missing("',' or ']' after an extent", "f32[34, 16]");
  }

  Extent parse_symbol() {
    const Token token = c_.peek();
    const std::string name =
        c_.expect_name("an extent: a number or a dimension's name", "f32[34, N]");
    const auto found = dims_.find(name);
    if (found != dims_.end()) return {found->second, name};
    c_.give_up_if_lost(token);
    std::vector<std::string> known;
    for (const auto& [dim, value] : dims_) known.push_back(dim);
    c_.fail(token,
            fmt::format("unknown dimension {0}{1}; expected a declaration above: `dim {2} = 34`, "
                        "or `dim {2} = ?` if it is bound later",
                        name.substr(0, 60), did_you_mean_name(name, known, ""),
                        quote_if_needed(name.substr(0, 60))));
  }

  /// dense,compressed@1,0[16x16]: cut out here, understood by parse_format.
  void parse_levels(Tensor& tensor) {
    const Token first = c_.peek();
    if (first.kind != TokenKind::identifier || at_declaration()) {
      c_.missing(tensor.shape.empty() ? "a format: scalar" : "a format, one level a dimension",
                 tensor.shape.empty() ? "temp %s: f32[] scalar" : "dense,compressed");
    }
    do {
      c_.expect_name("a level: dense, compressed, singleton or bitvector", "dense,compressed");
    } while (c_.accept(","));
    if (c_.accept("@")) {
      do {
        c_.expect_integer_in(0, 64, "a dimension", "dense,compressed@1,0");
      } while (c_.accept(","));
    }
    if (c_.accept("[")) {
      while (!c_.at("]") && !c_.at_end() && !at_declaration()) c_.next();
      c_.expect("]", "dense,compressed[16x16]");
    }
    tensor.format = c_.parse_part(first, [&](std::string_view text) {
      Format format = parse_format(text);
      check_format(format, static_cast<int>(tensor.shape.size()));
      return format;
    });
  }

  /// Whether a declaration of a tensor or a region begins here, also one whose keyword is
  /// misspelled.
  bool at_declaration() const {
    const Token& next = c_.token_at(c_.mark() + 1);
    const bool named = next.kind == TokenKind::tensor || next.kind == TokenKind::region;
    if (is_one_of(c_.peek(), kTopWords)) return true;
    return c_.peek().first_on_line && (named || next.is("{"));
  }

  void parse_attributes(Tensor& tensor) {
    const std::vector<std::string> known = {"fill", "facts", "assume", "place", "shape", "copy"};
    std::set<std::string> given;
    while (c_.peek().kind == TokenKind::identifier && !at_declaration()) {
      const Token token = c_.next();
      if (!is_one_of(token, known)) c_.unknown(token, "attribute of a tensor", known);
      if (!given.insert(token.text).second) {
        c_.fail(token, fmt::format("`{}` is given twice, expected it once", token.text));
      }
      c_.expect("(", "fill(0) facts(finite)");
      if (token.is("fill")) tensor.fill = c_.expect_float("the fill value", "fill(-inf)");
      if (token.is("facts")) tensor.facts = parse_facts();
      if (token.is("assume")) tensor.assumed = parse_facts();
      if (token.is("place")) tensor.placement = parse_placement(c_);
      if (token.is("shape")) tensor.model_shape = parse_model_shape();
      if (token.is("copy")) {
        tensor.copy_of = c_.expect_sigil(TokenKind::tensor, "an input's name", "copy(%a)");
      }
      c_.expect(")", "fill(0) facts(finite)");
    }
  }

  Facts parse_facts() {
    Facts facts;
    do {
      const Token token = c_.peek();
      const std::string name = c_.expect_name("a fact", "facts(finite, nonnegative)");
      if (name == "finite")
        facts.finite = true;
      else if (name == "no_nan")
        facts.no_nan = true;
      else if (name == "nonnegative")
        facts.nonnegative = true;
      else if (name == "nonzero")
        facts.nonzero = true;
      else if (name == "below_inf")
        facts.below_inf = true;
      else if (name == "range")
        parse_range(token, facts);
      else
        c_.unknown(token, "fact",
                   {"finite", "no_nan", "nonnegative", "nonzero", "below_inf", "range"});
    } while (c_.accept(","));
    return closed(facts);
  }

  std::vector<int64_t> parse_model_shape() {
    std::vector<int64_t> shape;
    while (!c_.at(")") && !c_.at_end()) {
      if (!shape.empty()) c_.expect(",", "shape(1, 128, 64)");
      shape.push_back(c_.expect_integer_in(0, INT64_MAX, "an extent", "shape(1, 128, 64)"));
    }
    return shape;
  }

  void parse_range(const Token& token, Facts& facts) {
    c_.expect("(", "range(-1, 1)");
    const float least = c_.expect_float("the least value", "range(-1, 1)");
    c_.expect(",", "range(-1, 1)");
    const float largest = c_.expect_float("the largest value", "range(-1, 1)");
    c_.expect(")", "range(-1, 1)");
    if (!(least <= largest)) c_.fail(token, "an empty range, expected range(LEAST, LARGEST)");
    facts.no_nan = true;
    facts.least = std::max(facts.least, least);
    facts.largest = std::min(facts.largest, largest);
  }

  /// name ( ... ) with balanced brackets: cut out here, understood by parse_source.
  void parse_source_text(Tensor& tensor) {
    const Token first = c_.peek();
    if (first.kind == TokenKind::string && !c_.peek(1).is("(")) {
      c_.unexpected(
          fmt::format("a source: the data of a file are `file({})`", quoted_string(first.text)),
          "");
    }
    c_.expect_name("a source", "file(\"x.npy\")");
    c_.expect("(", "file(\"x.npy\")");
    for (int depth = 1; depth > 0;) {
      if (c_.at_end() || begins_item(c_.peek()) || c_.peek().kind == TokenKind::invalid) {
        c_.unexpected("')'", "file(\"x.npy\")");
      }
      const Token& token = c_.next();
      if (token.is("(")) ++depth;
      if (token.is(")")) --depth;
    }
    tensor.source = c_.parse_part(first, [](std::string_view text) { return parse_source(text); });
  }

  // --- regions

  void parse_region() {
    c_.next();
    Region region;
    region.where = c_.location();
    region.name = expect_declared(TokenKind::region, '@', "a region's name", "region @t0 { ... }");
    c_.expect("{", "region @t0 { ... }");
    const size_t errors = c_.errors();
    while (!c_.at("}") && !c_.at_end() && !begins_item(c_.peek())) {
      try {
        parse_region_item(region);
      } catch (const Failure&) {
        c_.recover([this](const Token& token) { return begins_region_item(token); });
      }
    }
    c_.expect_block_end(errors, "region @t0 { ... }");
    p_.regions.push_back(std::move(region));
  }

  /// The statements that a rewritten program came from.
  void parse_reference() {
    const Token token = c_.next();
    if (!p_.reference.statements.empty()) {
      c_.error(c_.location(token), "the program has two `reference` sections, expected one");
    }
    p_.reference.reassociated = c_.accept("reassociated");
    c_.expect("{", kReferenceExample);
    const size_t errors = c_.errors();
    while (!c_.at("}") && !c_.at_end() && !begins_item(c_.peek())) {
      try {
        if (c_.peek().kind != TokenKind::tensor)
          c_.unexpected("a statement or '}'", kReferenceExample);
        p_.reference.statements.push_back(parse_statement(c_, p_, names_));
      } catch (const Failure&) {
        // At statements only: a keyword of regions is what was wrong, and would be met again.
        c_.recover([this](const Token& at) {
          return at.kind == TokenKind::tensor && begins_region_item(at);
        });
      }
    }
    if (c_.errors() == errors && p_.reference.statements.empty()) {
      c_.error(c_.location(token), "the reference section is empty, expected a statement");
    }
    c_.expect_block_end(errors, kReferenceExample);
  }

  /// A line in a region that is not the rest of a longer one: a keyword, or `%t[..] = `.
  bool begins_region_item(const Token& token) const {
    if (!token.first_on_line) return false;
    if (is_one_of(token, kRegionWords) || is_one_of(token, kTopWords)) return true;
    if (token.kind != TokenKind::tensor) return false;
    size_t ahead = 1;
    if (c_.peek(ahead).is("[")) {
      while (!c_.peek(ahead).is("]") && c_.peek(ahead).kind != TokenKind::end &&
             !c_.peek(ahead).first_on_line) {
        ++ahead;
      }
      ++ahead;
    }
    return c_.peek(ahead).is("=");
  }

  void parse_region_item(Region& region) {
    const Token token = c_.peek();
    if (token.kind == TokenKind::tensor) {
      region.statements.push_back(parse_statement(c_, p_, names_));
    } else if (begins_schedule_line(token)) {
      parse_schedule_line(c_, names_, region.schedule);
    } else if (token.is("plan")) {
      parse_plan(region);
    } else if (token.is("graph")) {
      if (region.graph) c_.error(c_.location(), "the region has two graphs, expected at most one");
      region.graph = parse_graph(c_, p_, names_, graph_tensors_);
    } else if (token.kind == TokenKind::identifier &&
               (c_.peek(1).is("[") || c_.peek(1).is("=") || names_.contains(token.text))) {
      const std::string meant = meant_name(token.text, known_tensors());
      c_.unexpected(fmt::format("a statement: a tensor's name begins with '%', `%{}`",
                                meant.empty() ? token.text : meant),
                    "");
    } else if (token.kind == TokenKind::identifier) {
      c_.unknown(token, "keyword in a region", kRegionWords);
    } else {
      c_.unexpected("a statement, a schedule line, a graph or '}'", "%y[i] = relu(%x[i])");
    }
  }

  std::vector<std::string> known_tensors() const {
    std::vector<std::string> known;
    for (const auto& [name, id] : names_) known.push_back(name);
    return known;
  }

  void parse_plan(Region& region) {
    c_.next();
    std::string key = c_.expect_name("a plan's key", "plan cluster = \"2x4\"");
    c_.expect("=", "plan cluster = \"2x4\"");
    region.plan.emplace_back(std::move(key),
                             c_.expect_string("a string", "plan cluster = \"2x4\""));
  }

  Cursor& c_;
  bool named_ = false;      ///< a line `program` was read
  bool recovered_ = false;  ///< the item before had errors
  Program p_;
  std::vector<GraphTensor> graph_tensors_;
  TensorNames names_;
  std::map<std::string, int64_t> dims_;
};

}  // namespace
}  // namespace ir

namespace {

/// In the order of the text; with a note if there were too many.
void finish_errors(std::vector<Diagnostic>& errors, const SourceText& source) {
  const bool capped = errors.size() >= kMaxErrors;
  std::stable_sort(errors.begin(), errors.end(), [](const Diagnostic& a, const Diagnostic& b) {
    return std::pair(a.where.line, a.where.column) < std::pair(b.where.line, b.where.column);
  });
  if (capped) {
    errors.push_back({Severity::note, {source.name}, "too many errors; the rest is not shown", {}});
  }
}

}  // namespace

Program parse_program(const SourceText& source) {
  const std::string_view text = without_byte_order_mark(source.text);
  if (text.size() < source.text.size()) return parse_program({source.name, std::string(text)});
  const std::string why = why_no_program(source);
  if (!why.empty()) throw Error(ExitCode::rejected, Location{source.name}, why);
  std::vector<Diagnostic> errors;
  Program program;
  ir::Cursor cursor(source, errors);
  try {
    program = ir::ProgramParser(cursor).parse();
  } catch (const ir::Failure&) {
    // recorded in `errors`
  }
  if (errors.empty()) {
    try {
      verify(program);
    } catch (const Error& wrong) {
      errors = wrong.diagnostics();
      for (Diagnostic& d : errors) {
        if (d.where.line > 0) d = error_at(source, d.where, std::move(d.message));
      }
    }
  }
  if (errors.empty()) {
    keep_text(source);
    return program;
  }
  finish_errors(errors, source);
  throw Error(ExitCode::rejected, std::move(errors));
}

}  // namespace fuseflow
