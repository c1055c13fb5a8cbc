#include "ir/dot_style.h"

#include <fmt/format.h>

#include <algorithm>

#include "nodes/rule.h"
#include "support/text.h"

namespace fuseflow {
namespace {

constexpr size_t kMaxLabel = 100;

/// Cuts the middle out of a long text, without splitting a UTF-8 character.
std::string shortened(const std::string& text) {
  if (text.size() <= kMaxLabel) return text;
  size_t head = kMaxLabel / 2;
  size_t tail = text.size() - kMaxLabel / 2;
  const auto continues = [&](size_t at) {
    return (static_cast<unsigned char>(text[at]) & 0xc0) == 0x80;
  };
  while (head > 0 && continues(head)) --head;
  while (tail < text.size() && continues(tail)) ++tail;
  return text.substr(0, head) + "..." + text.substr(tail);
}

}  // namespace

std::string dot_escaped(const std::string& text) {
  std::string result;
  for (size_t at = 0; at < text.size();) {
    const size_t length = utf8_length(text, at);
    if (text[at] == '"' || text[at] == '\\') result += '\\';
    if (text[at] == '&') {  // Graphviz reads entities of HTML in any label
      result += "&amp;";
      ++at;
      continue;
    }
    const bool shown = length > 0 && !is_control(text, at, length);
    result += shown ? text.substr(at, length) : length == 0 ? "?" : " ";
    at += std::max<size_t>(length, 1);
  }
  return result;
}

std::string dot_label(const std::string& text) {
  return dot_escaped(shortened(text));
}

DotStyle style_of(NodeKind kind) {
  switch (*node_rule(kind).family) {
    case NodeFamily::root:
      return {"#eeeeee", "root"};
    case NodeFamily::read:
      return {"#cfe2f3", "reads a tensor"};
    case NodeFamily::move:
      return {"#f3f3f3", "moves tokens"};
    case NodeFamily::join:
      return {"#fce5cd", "joins coordinates"};
    case NodeFamily::compute:
      return {"#fff2cc", "computes"};
    case NodeFamily::reduce:
      return {"#f4cccc", "reduces"};
    case NodeFamily::drop:
      return {"#ead1dc", "drops"};
    case NodeFamily::write:
      return {"#d9ead3", "writes a tensor"};
    case NodeFamily::split:
      return {"#d9d2e9", "splits and merges"};
    case NodeFamily::convert:
      return {"#d0e0e3", "stores in another format"};
    case NodeFamily::tile_load:
    case NodeFamily::tile_store:
      return {"#d9ead3", "moves tiles"};
    case NodeFamily::tile_product:
      return {"#f4cccc", "multiplies tiles"};
    case NodeFamily::tile_link:
      return {"#d9d2e9", "links"};
  }
  return {"#ffffff", ""};
}

std::string_view line_style(StreamKind kind) {
  return kind == StreamKind::crd ? "dashed" : kind == StreamKind::ref ? "dotted" : "solid";
}

DotStyle style_of(Role role) {
  switch (role) {
    case Role::input:
      return {"#9fc5e8", "input"};
    case Role::constant:
      return {"#d0e0e3", "constant"};
    case Role::result:
      return {"#b6d7a8", "result"};
    case Role::temporary:
      break;
  }
  return {"#ffffff", "intermediate"};
}

namespace {

std::string legend_row(const std::string& left, std::string_view meaning) {
  return fmt::format("<tr>{}<td align=\"left\">{}</td></tr>", left, meaning);
}

/// Each colour once, in the order of the keys.
template <typename Key>
std::string colour_rows(const std::set<Key>& keys) {
  std::string rows;
  std::set<std::string_view> seen;
  for (const Key key : keys) {
    const DotStyle style = style_of(key);
    if (style.meaning.empty() || !seen.insert(style.meaning).second) continue;
    rows +=
        legend_row(fmt::format("<td bgcolor=\"{}\" border=\"1\" width=\"24\"></td>", style.colour),
                   style.meaning);
  }
  return rows;
}

}  // namespace

std::string dot_legend(const std::set<NodeKind>& kinds, const std::set<Role>& roles) {
  std::string rows = colour_rows(roles) + colour_rows(kinds);
  if (!kinds.empty()) {
    rows += legend_row("<td>- - -</td>", "coordinates") +
            legend_row("<td>. . . .</td>", "references") +
            legend_row("<td>&#8212;&#8212;</td>", "values");
  }
  return fmt::format(
      "legend [shape=plain, style=\"\", label=<<table border=\"1\" color=\"#999999\" "
      "cellborder=\"0\" cellspacing=\"2\">{}</table>>];",
      rows);
}

}  // namespace fuseflow
