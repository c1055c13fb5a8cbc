#include "ir/graph_parser.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <type_traits>

#include "graph/node_fields.h"
#include "ir/foreign.h"
#include "nodes/rule.h"
#include "nodes/verify.h"
#include "support/ceil_div.h"

namespace fuseflow::ir {

namespace {

constexpr std::string_view kNodeExample = "$i: crd<i>, $ai: ref<i> = scan %a.0 ($root)";

class GraphParser {
 public:
  GraphParser(Cursor& cursor, const Program& program, const TensorNames& names,
              std::vector<GraphTensor>& tensors)
      : c_(cursor), program_(program), names_(names), tensors_(tensors) {}

  Graph parse() {
    begin_ = c_.location(c_.next());
    c_.forget_lost(TokenKind::stream);  // they are local to a graph
    c_.expect("{", "graph { ... }");
    const size_t errors = c_.errors();
    while (!c_.at("}") && !c_.at_end()) {
      const size_t mark = c_.mark();
      try {
        parse_item();
      } catch (const Failure&) {
        give_up(mark);
      }
    }
    c_.expect_block_end(errors, "graph { ... }");
    if (c_.errors() == errors && !failed_) check();
    return std::move(g_);
  }

 private:
  void parse_item() {
    if (c_.at("scratchpad")) return parse_tensors(g_.scratchpad);
    if (c_.at("resident")) return parse_tensors(g_.resident);
    if (c_.at("index")) return parse_index();
    if (c_.at("phase")) return parse_phase();
    if (c_.at("tiles")) return parse_tiles();
    if (c_.peek().kind == TokenKind::identifier) {
      c_.unknown(c_.peek(), "item of a graph",
                 {"scratchpad", "resident", "index", "tiles", "phase"});
    }
    c_.unexpected("'scratchpad', 'resident', 'index', 'tiles', 'phase' or '}'", "phase { ... }");
  }

  /// A line that is not the rest of a longer one: in a phase streams before `= KIND`, or a node
  /// without streams, else a keyword.
  bool begins_line(const Token& token) const {
    if (!token.first_on_line) return false;
    if (in_phase_ && token.kind == TokenKind::stream) return c_.peek(1).is(":") || gives_streams();
    if (token.kind != TokenKind::identifier) return false;
    if (in_phase_) return find_node_kind(token.text).has_value();
    return token.is("phase") || token.is("index") || token.is("scratchpad") ||
           token.is("resident") || token.is("tiles");
  }

  /// The line at hand has `= KIND`.
  bool gives_streams() const {
    for (size_t ahead = 1; !c_.peek(ahead).first_on_line; ++ahead) {
      const Token& token = c_.peek(ahead);
      if (token.kind == TokenKind::end) return false;
      if (token.is("=")) return find_node_kind(c_.peek(ahead + 1).text).has_value();
    }
    return false;
  }

  /// Skips the line that began at `mark`, and loses the streams and indices that it may have given.
  void give_up(size_t mark) {
    failed_ = true;
    c_.recover([this](const Token& token) { return begins_line(token); });
    for (size_t t = mark; t < c_.mark(); ++t) {
      const Token& token = c_.token_at(t);
      if (token.kind == TokenKind::stream) c_.lose_name(TokenKind::stream, token.text);
      if (token.is("index")) lost_indices_ = true;
    }
  }

  void parse_tensors(std::vector<TensorId>& list) {
    c_.next();
    do {
      list.push_back(resolve_tensor(c_, names_, c_.next()));
    } while (c_.accept(","));
  }

  void parse_index() {
    c_.next();
    const Token token = c_.peek();
    GraphIndex index;
    index.name = c_.expect_name("an index name", "index i: 34");
    c_.expect(":", "index i: 34");
    index.extent = c_.expect_integer_in(0, INT64_MAX, "an extent", "index i: 34");
    if (c_.at("block")) parse_index_blocks(index);
    if (c_.at("cluster")) parse_digits(index);
    if (!index_ids_.emplace(index.name, static_cast<int>(g_.indices.size())).second) {
      c_.fail(token, fmt::format("graph index {} is defined twice", index.name));
    }
    g_.indices.push_back(std::move(index));
  }

  /// `index i: 3 block=16 size=40`: 3 blocks of 16, the last cut.
  void parse_index_blocks(GraphIndex& index) {
    const char* const example = "index i: 3 block=16 size=40";
    const Token token = c_.next();
    c_.expect("=", example);
    index.block = c_.expect_integer_in(1, 1 << 20, "elements in a block", example);
    c_.expect("size", example);
    c_.expect("=", example);
    index.size = c_.expect_integer_in(0, INT64_MAX, "elements in all", example);
    const int64_t blocks = ceil_div(index.size, index.block);
    // Dimensions of tiles are padded to what a cluster covers.
    if (index.extent != blocks && !(c_.at("cluster") && index.extent > blocks)) {
      c_.fail(token, fmt::format("index {} has {} blocks, expected {}: {} elements by {}",
                                 index.name, index.extent, blocks, index.size, index.block));
    }
  }

  /// `cluster=2 digits=[h:28, w:28]`
  void parse_digits(GraphIndex& index) {
    const char* const example = "index m: 14 block=64 size=784 cluster=2 digits=[h:28, w:28]";
    c_.next();
    c_.expect("=", example);
    index.tiling.cluster =
        static_cast<int>(c_.expect_integer_in(1, kLargestCluster, "blocks of a cluster", example));
    c_.expect("digits", example);
    c_.expect("=", example);
    c_.expect("[", example);
    do {
      const Token token = c_.peek();
      TileDigit digit;
      digit.name = c_.expect_name("a digit's name", example);
      c_.expect(":", example);
      digit.extent = c_.expect_integer_in(1, INT32_MAX, "an extent", example);
      if (!digit_ids_.emplace(digit.name, static_cast<int>(digit_ids_.size())).second) {
        c_.fail(token, fmt::format("digit {} is defined twice", digit.name));
      }
      index.tiling.digits.push_back(std::move(digit));
    } while (c_.accept(","));
    c_.expect("]", example);
  }

  /// `tiles [m, l, k] bytes=2 way=split`
  void parse_tiles() {
    const char* const example = "tiles [m, l, k] bytes=2";
    const Token token = c_.next();
    if (g_.tiles) c_.fail(token, "the graph has two lines of tiles, expected one");
    TileMapping tiles;
    if (c_.at("[") && c_.peek(1).is("]")) {
      c_.next();
      c_.next();
    } else {
      for (const int index : parse_index_list(example)) {
        if (index >= kDims) c_.fail(token, "tiles have the dimensions m, n, k, l");
        tiles.loops.push_back(static_cast<Dim>(index));
      }
    }
    if (!c_.accept("bytes")) c_.unexpected("'bytes'", example);
    c_.expect("=", example);
    tiles.element_bytes = c_.expect_integer_in(1, 8, "bytes of an element", example);
    if (c_.accept("way")) {
      c_.expect("=", example);
      const Token way = c_.peek();
      const std::string name = c_.expect_name("split or sequential", example);
      if (name != "split" && name != "sequential") c_.unknown(way, "way", {"split", "sequential"});
      tiles.way = name == "split" ? GatedWay::split : GatedWay::sequential;
    }
    if (c_.accept("band")) tiles.band = parse_band();
    if (c_.accept("open")) tiles.open = parse_open();
    g_.tiles = std::move(tiles);
  }

  /// `band=[-15, 0]`: the least and the largest k - m that a kernel walks.
  std::array<int64_t, 2> parse_band() {
    const char* const example = "tiles [] bytes=4 band=[-15, 0]";
    c_.expect("=", example);
    c_.expect("[", example);
    const int64_t least = c_.expect_integer("the least k - m", example);
    c_.expect(",", example);
    const int64_t most = c_.expect_integer("the largest k - m", example);
    c_.expect("]", example);
    return {least, most};
  }

  /// `open=[0:2, 5:6; ; 1:3]`: for each tile of rows the tiles of k that a kernel walks.
  std::vector<std::vector<TileRange>> parse_open() {
    const char* const example = "tiles [] bytes=4 open=[0:2, 5:6; 1:3]";
    std::vector<std::vector<TileRange>> open(1);
    c_.expect("=", example);
    c_.expect("[", example);
    bool begins = true;  // a list, which may be empty
    while (true) {
      if (c_.accept("]")) return open;
      if (c_.accept(";")) {
        open.emplace_back();
        begins = true;
        continue;
      }
      if (!begins) c_.expect(",", example);
      begins = false;
      TileRange range;
      range.begin = c_.expect_integer("the first tile of k", example);
      c_.expect(":", example);
      range.end = c_.expect_integer("the tile of k after the last", example);
      open.back().push_back(range);
    }
  }

  /// `[0, 2*c, h + kh - 1]` over the digits.
  void parse_subscripts(Node& node) {
    const char* const example = "tile_load %x[0, c, h + kh - 1]";
    c_.expect("[", example);
    if (c_.accept("]")) return;
    do {
      node.tile.subscripts.push_back(parse_subscript(example));
    } while (c_.accept(","));
    c_.expect("]", example);
  }

  TileSubscript parse_subscript(const char* example) {
    constexpr int64_t kMost = int64_t{1} << 31;
    TileSubscript subscript;
    do {
      int64_t factor = 1;
      bool number = false;
      if (c_.peek().kind == TokenKind::number || c_.at("-")) {
        factor = c_.expect_integer_in(-kMost, kMost, "a number", example);
        number = true;
      }
      if (number && !c_.accept("*")) {
        subscript.offset += factor;
        continue;
      }
      const Token token = c_.peek();
      const std::string name = c_.expect_name("a digit", example);
      const auto found = digit_ids_.find(name);
      if (found == digit_ids_.end()) {
        std::vector<std::string> known;
        for (const auto& [digit, id] : digit_ids_) known.push_back(digit);
        c_.unknown(token, "digit", known);
      }
      subscript.terms.emplace_back(found->second, factor);
    } while (c_.accept("+") || c_.at("-"));
    return subscript;
  }

  /// `[i, k]`
  std::vector<int> parse_index_list(const std::string& example) {
    std::vector<int> indices;
    c_.expect("[", example);
    do {
      const Token token = c_.peek();
      const std::string name = c_.expect_name("an index", example);
      const auto found = index_ids_.find(name);
      if (found == index_ids_.end()) {
        if (lost_indices_) throw Failure{};
        c_.fail(token, fmt::format("unknown graph index {}", name));
      }
      indices.push_back(found->second);
    } while (c_.accept(","));
    c_.expect("]", example);
    return indices;
  }

  /// `phase rows {`: it starts with the phase before it.
  void parse_phase() {
    c_.next();
    if (c_.accept("rows")) g_.row_phases.push_back(phase_);
    c_.expect("{", "phase { ... }");
    in_phase_ = true;
    const size_t errors = c_.errors();
    while (!c_.at("}") && !c_.at_end()) {
      const size_t mark = c_.mark();
      try {
        parse_node();
      } catch (const Failure&) {
        give_up(mark);
      }
    }
    in_phase_ = false;
    c_.expect_block_end(errors, "phase { ... }");
    ++phase_;
  }

  void parse_node() {
    Node node;
    node.phase = phase_;
    const Token first = c_.peek();
    std::vector<Output> outputs;
    if (first.kind == TokenKind::stream) {
      do {
        outputs.push_back(parse_output());
      } while (c_.accept(","));
      c_.expect("=", kNodeExample);
    }
    parse_kind(node);
    if (c_.at("(")) parse_inputs(node);
    parse_attributes(node);
    const auto id = static_cast<NodeId>(g_.nodes.size());
    for (auto& [stream, token, typed] : outputs) {
      stream.producer = id;
      stream.port = static_cast<int>(node.outputs.size());
      const auto s = static_cast<StreamId>(g_.streams.size());
      if (!stream_ids_.emplace(stream.name, s).second) {
        c_.fail(token,
                fmt::format("stream ${} is defined twice, expected another name", stream.name));
      }
      node.outputs.push_back(s);
      g_.streams.push_back(std::move(stream));
      untyped_.push_back(!typed);
    }
    g_.nodes.push_back(std::move(node));
    places_.push_back(c_.location(first));
  }

  struct Output {
    Stream stream;
    Token token;
    bool typed = false;
  };

  /// `$i: crd<i>`, or `$i` where the node tells its type.
  Output parse_output() {
    Output output;
    output.token = c_.peek();
    output.stream.name = c_.expect_sigil(TokenKind::stream, "a stream", kNodeExample);
    output.typed = !c_.at(",") && !c_.at("=");
    if (output.typed) parse_type(output.stream);
    return output;
  }

  void parse_type(Stream& stream) {
    c_.expect(":", kNodeExample);
    const Token kind = c_.peek();
    c_.expect_name("a stream kind: crd, ref or val", kNodeExample);
    bool known = false;
    for (const StreamKind k : {StreamKind::crd, StreamKind::ref, StreamKind::val}) {
      if (kind.text == stream_kind_name(k)) {
        stream.kind = k;
        known = true;
      }
    }
    if (!known) c_.unknown(kind, "stream kind", {"crd", "ref", "val"});
    c_.expect("<", kNodeExample);
    while (!c_.at(">")) {
      const Token token = c_.peek();
      const std::string name = c_.expect_name("an index or '>'", "val<i,k>");
      const auto found = index_ids_.find(name);
      if (found == index_ids_.end()) {
        if (lost_indices_) throw Failure{};
        std::vector<std::string> known_names;
        for (const GraphIndex& index : g_.indices) known_names.push_back(index.name);
        c_.fail(token, fmt::format("unknown graph index {}{}, expected one declared in this graph: "
                                   "`index {}: 34`",
                                   name, did_you_mean_name(name, known_names, ""), name));
      }
      stream.indices.push_back(found->second);
      if (!c_.accept(",")) break;
    }
    c_.expect(">", "val<i,k>");
    if (c_.at("[")) stream.block = parse_index_list("val<i,k>[i,k]");
  }

  void parse_kind(Node& node) {
    const Token token = c_.peek();
    const std::string name = c_.expect_name("a node kind", kNodeExample);
    const auto kind = find_node_kind(name);
    if (!kind) c_.unknown(token, "node kind", node_kind_names());
    node.kind = *kind;
    const NodeFields& fields = node_rule(*kind).fields;
    if (fields.op) parse_op(node);
    if (fields.reduction) parse_reduction(node);
    if (fields.order) {
      node.order = static_cast<int>(
          c_.expect_integer_in(1, 64, "the number of inner loops", "accumulate sum 1 (...)"));
    }
    const bool counter = fields.tensor_optional && c_.at("(");
    if (fields.tensor && !counter) {
      node.tensor = parse_tensor(fields.level ? &node.level : nullptr);
    }
    if (fields.other_level) {
      c_.expect(",", "gallop %a.1, %b.1 ($a.r, $b.r)");
      node.other_tensor = parse_tensor(&node.other_level);
    }
    if (fields.other_tensor) {
      c_.expect(",", "convert %a.order1, %a");
      node.other_tensor = parse_tensor(nullptr);
    }
    if (fields.subscripts) parse_subscripts(node);
  }

  void parse_op(Node& node) {
    const Token token = c_.peek();
    const auto op = find_op(c_.expect_name("an operator", "map mul ($a, $b)"));
    if (!op) c_.unknown(token, "operator", op_names(), foreign_operators());
    node.op = *op;
  }

  void parse_reduction(Node& node) {
    const Token token = c_.peek();
    const auto reduction = find_reduction(c_.expect_name("a reduction", "reduce sum ($i, $v)"));
    if (!reduction)
      c_.unknown(token, "reduction", {"sum", "max", "min", "mean", "prod"}, foreign_operators());
    node.reduction = *reduction;
  }

  /// `%a`, or `%a.0` whose level is lexed as part of the name (after a quoted name: as a number).
  TensorId parse_tensor(int* number) {
    const bool with_level = number != nullptr;
    Token token = c_.peek();
    c_.expect_sigil(TokenKind::tensor, with_level ? "a level of a tensor" : "a tensor",
                    with_level ? "%a.0" : "%a");
    std::string level;
    if (with_level && token.quoted) {
      level = c_.peek().kind == TokenKind::number && c_.peek().text[0] == '.'
                  ? c_.next().text.substr(1)
                  : "";
    } else if (with_level) {
      const size_t dot = token.text.rfind('.');
      if (dot != std::string::npos) {
        level = token.text.substr(dot + 1);
        token.text.resize(dot);
      }
    }
    if (with_level) {
      const auto [end, code] = std::from_chars(level.data(), level.data() + level.size(), *number);
      if (level.empty() || code != std::errc() || end != level.data() + level.size()) {
        c_.fail(token, fmt::format("%{} names no level, expected a level number after a dot, e.g. "
                                   "`%a.0`",
                                   token.text));
      }
    }
    return resolve_tensor(c_, names_, token);
  }

  void parse_inputs(Node& node) {
    c_.expect("(", "map mul ($a, $b)");
    const bool groups = node_rule(node.kind).fields->groups;
    int in_group = 0;
    while (!c_.at(")")) {
      node.inputs.push_back(parse_input());
      ++in_group;
      if (groups && c_.accept(";")) {
        node.groups.push_back(in_group);
        in_group = 0;
      } else if (!c_.accept(",")) {
        break;
      }
    }
    if (!c_.at(")")) {
      c_.unexpected(groups ? "',', ';' or ')'" : "',' or ')'",
                    groups ? "intersect ($a, $ar; $b, $br)" : "map mul ($a, $b)");
    }
    c_.next();
    if (groups && in_group > 0) node.groups.push_back(in_group);
  }

  Input parse_input() {
    Input input;
    const Token token = c_.peek();
    if (c_.at_float()) {
      input.immediate = c_.expect_float("a number", "map mul ($a, 0.5)");
      return input;
    }
    const std::string name = c_.expect_sigil(TokenKind::stream, "a stream or a number", "($a, $b)");
    const auto found = stream_ids_.find(name);
    if (found == stream_ids_.end()) {
      c_.give_up_if_lost(token);
      std::vector<std::string> known;
      for (const Stream& stream : g_.streams) known.push_back(stream.name);
      c_.fail(token, fmt::format("unknown stream ${}{}, expected one given by a node above", name,
                                 did_you_mean_name(name, known, "$")));
    }
    input.stream = found->second;
    return input;
  }

  void parse_attributes(Node& node) {
    while (c_.peek().kind == TokenKind::identifier && c_.peek(1).is("=")) {
      const Token name = c_.next();
      c_.expect("=", "capacity=16");
      if (!parse_attribute(node, name)) unknown_attribute(name, node_rule(node.kind));
    }
  }

  /// Whether the kind of the node has it.
  bool parse_attribute(Node& node, const Token& name) {
    const NodeFields& fields = node_rule(node.kind).fields;
    bool found = false;
    for_each_field([&](const auto& row) {
      if constexpr (std::remove_cvref_t<decltype(row)>::is_attribute) {
        if (found || !row.used_by(fields) || !name.is(row.rule.name)) return;
        found = true;
        parse_attribute_value<std::remove_cvref_t<decltype(row)>::names>(value_of(node, row.member),
                                                                         row.rule);
      }
    });
    return found;
  }

  template <Names names, typename T>
  void parse_attribute_value(T& value, const FieldRule& rule) {
    if constexpr (names == Names::tensor) {
      value = resolve_tensor(c_, names_, c_.next());
    } else if constexpr (names == Names::loop) {
      value = parse_index_list(std::string(rule.example));
    } else if constexpr (std::is_same_v<T, bool>) {
      const Token token = c_.peek();
      const std::string word = c_.expect_name(rule.what, rule.example);
      if (word != rule.no && word != rule.yes) {
        c_.unknown(token, rule.name, {std::string(rule.no), std::string(rule.yes)});
      }
      value = word == rule.yes;
    } else if constexpr (std::is_same_v<T, float>) {
      value = c_.expect_float(rule.what, rule.example);
    } else if constexpr (std::is_integral_v<T>) {
      value = static_cast<T>(c_.expect_integer_in(
          std::max<int64_t>(rule.least, std::numeric_limits<T>::min()),
          std::min<int64_t>(rule.most, std::numeric_limits<T>::max()), rule.what, rule.example));
    } else {
      parse_numbers(value, rule);
    }
  }

  /// `[2, 1]`, of any length.
  void parse_numbers(std::vector<int64_t>& numbers, const FieldRule& rule) {
    c_.expect("[", rule.example);
    do {
      numbers.push_back(c_.expect_integer_in(rule.least, rule.most, rule.what, rule.example));
    } while (c_.accept(","));
    c_.expect("]", rule.example);
  }

  template <size_t kCount>
  void parse_numbers(std::array<int64_t, kCount>& numbers, const FieldRule& rule) {
    c_.expect("[", rule.example);
    for (size_t at = 0; at < kCount; ++at) {
      if (at > 0) c_.expect(",", rule.example);
      numbers[at] = c_.expect_integer_in(rule.least, rule.most, rule.what, rule.example);
    }
    c_.expect("]", rule.example);
  }

  [[noreturn]] void unknown_attribute(const Token& token, const NodeRule& rule) {
    std::vector<std::string> known;
    for_each_field([&](const auto& row) {
      if (row.is_attribute && row.used_by(rule.fields)) known.emplace_back(row.rule.name);
    });
    c_.unknown(token, fmt::format("attribute of {}", *rule.name), known);
  }

  void check() {
    if (tensors_.size() != program_.tensors.size()) tensors_ = graph_tensors(program_);
    complete_graph(g_, tensors_, untyped_, [this](NodeId node, std::string message) {
      c_.error(node < 0 ? begin_ : places_[node], std::move(message));
    });
  }

  Cursor& c_;
  const Program& program_;
  const TensorNames& names_;
  std::vector<GraphTensor>& tensors_;
  Graph g_;
  std::map<std::string, int, std::less<>> index_ids_;
  std::map<std::string, int, std::less<>> digit_ids_;  ///< of the dimensions of tiles
  std::map<std::string, StreamId, std::less<>> stream_ids_;
  std::vector<Location> places_;  ///< of each node
  std::vector<bool> untyped_;     ///< by stream
  Location begin_;
  int phase_ = 0;
  bool in_phase_ = false;
  bool failed_ = false;
  bool lost_indices_ = false;  ///< a line that may have declared one was given up
};

}  // namespace

Graph parse_graph(Cursor& cursor, const Program& program, const TensorNames& names,
                  std::vector<GraphTensor>& tensors) {
  return GraphParser(cursor, program, names, tensors).parse();
}

}  // namespace fuseflow::ir
