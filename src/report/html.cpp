#include "report/html.h"

#include <fmt/format.h>

#include <algorithm>

#include "support/text.h"

namespace fuseflow {
namespace {

constexpr const char* kStyle = R"css(
:root { color-scheme: light dark; --ink: #1c2430; --soft: #5b6675; --paper: #ffffff; --grid: #d9dee5;
  --busy: #2b6cb0; --memory: #7a5bb5; --starved: #d9a441; --blocked: #c05353; --other: #8a95a3; --picture: none; }
@media (prefers-color-scheme: dark) { :root { --ink: #e4e8ee; --soft: #9aa6b5; --paper: #14181d;
  --grid: #343c46; --busy: #63a4e0; --memory: #b09ae0; --starved: #e0b868; --blocked: #e07c7c; --other: #76818f;
  --picture: invert(.92) hue-rotate(180deg); } }
body { font: 15px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper);
  max-width: 72rem; margin: 1.5rem auto; padding: 0 1rem; }
h1 { font-size: 1.5rem; overflow-wrap: anywhere; margin: .5rem 0; }
h2 { font-size: 1.15rem; margin: 0; display: inline; } h3 { font-size: 1rem; margin: 1rem 0 .3rem; }
p { max-width: 46rem; color: var(--soft); margin: .2rem 0 .8rem; }
nav a { color: var(--busy); margin-right: .9rem; white-space: nowrap; }
details { border-top: 1px solid var(--grid); padding: .5rem 0; margin: .5rem 0; }
summary { cursor: pointer; } summary span { color: var(--soft); margin-left: .6rem; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; font-size: .87rem; }
th, td { padding: .2rem .6rem; text-align: right; border-bottom: 1px solid var(--grid); }
code { font-size: .92em; overflow-wrap: anywhere; }
th, td { white-space: nowrap; } td.text { white-space: normal; } td.text, th.text { text-align: left; }
td.text { overflow-wrap: anywhere; min-width: 8rem; } td.text:first-child { min-width: 4.5rem; }
[title] { text-decoration: underline dotted var(--grid); text-underline-offset: 3px; }
.bars { font-size: .87rem; margin: .3rem 0 .8rem; font-variant-numeric: tabular-nums; }
.bars div { display: grid; grid-template-columns: 21rem minmax(6rem, 1fr) 11rem; gap: .6rem;
  align-items: center; line-height: 1.45; text-decoration: none; }
.bars b { font-weight: normal; text-align: right; overflow: hidden; text-overflow: ellipsis;
  white-space: nowrap; } .bars i { display: flex; height: 13px; } .bars i i { height: 100%; }
.bars small, .legend { color: var(--soft); font-size: .87rem; }
.legend i { display: inline-block; width: 12px; height: 12px; margin: 0 .4rem 0 1rem; }
.chart { display: block; } .chart text { fill: var(--ink); font: 12px system-ui, sans-serif; }
.chart .soft { fill: var(--soft); } .chart .grid { stroke: var(--grid); fill: none; }
.chart .line { stroke: var(--busy); fill: none; stroke-width: 1.5; }
.chart .roof { stroke: var(--soft); fill: none; stroke-width: 1.5; }
.busy { fill: var(--busy); background: var(--busy); }
.memory { fill: var(--memory); background: var(--memory); }
.starved { fill: var(--starved); background: var(--starved); }
.blocked { fill: var(--blocked); background: var(--blocked); }
.other { fill: var(--other); background: var(--other); }
.scale { filter: var(--picture); color: #5b6675; }
.scale span { color: #1c2430; padding: .1rem .5rem; border: 1px solid #d9dee5; }
.scroll { overflow-x: auto; }
.drawing { background: #ffffff; padding: .5rem; border: 1px solid #d9dee5; filter: var(--picture);
  max-height: 90vh; overflow: auto; }
.drawing svg { max-width: 100%; height: auto; min-width: var(--least); }
.narrow { display: none; }
@media (max-width: 760px) { .wide { display: none; } .narrow { display: block; }
  .bars div { grid-template-columns: 1fr 8.5rem; gap: 0 .5rem; margin-bottom: .25rem; }
  .bars b { grid-column: 1 / 3; text-align: left; } body { font-size: 14px; padding: 0 .7rem; } }
@media print { body { max-width: none; margin: 0; } details { break-inside: avoid-page; } }
)css";

}  // namespace

std::string html_text(const std::string& text) {
  std::string out;
  for (size_t i = 0; i < text.size();) {
    const size_t length = utf8_length(text, i);
    const char c = text[i];
    if (length == 0) {
      out += '?';
    } else if (length > 1) {
      out += is_control(text, i, length) ? " " : text.substr(i, length);
    } else if (c == '&') {
      out += "&amp;";
    } else if (c == '<') {
      out += "&lt;";
    } else if (c == '>') {
      out += "&gt;";
    } else if (c == '"') {
      out += "&quot;";
    } else {
      out += static_cast<unsigned char>(c) < 0x20 || c == 0x7F ? ' ' : c;
    }
    i += length == 0 ? 1 : length;
  }
  return out;
}

std::string html_prose(const std::string& text) {
  std::string html;
  bool inside = false;
  for (const char c : html_text(text)) {
    if (c != '`') {
      html += c;
      continue;
    }
    html += inside ? "</code>" : "<code>";
    inside = !inside;
  }
  return inside ? html + "</code>" : html;
}

namespace {

/// Names of a model may break after their separators.
std::string breakable(const std::string& html) {
  std::string out;
  for (const char c : html) {
    out += c;
    if (c == '/' || c == '_') out += "<wbr>";
  }
  return out;
}

}  // namespace

std::string html_table(const std::vector<std::string>& header,
                       const std::vector<std::vector<HtmlCell>>& rows, size_t left) {
  std::vector<bool> filled(header.size(), false);
  for (const auto& cells : rows) {
    for (size_t i = 0; i < cells.size(); ++i) filled[i] = filled[i] || !cells[i].text.empty();
  }
  const auto row = [&](const std::vector<HtmlCell>& cells, const char* tag) {
    std::string out = "<tr>";
    for (size_t i = 0; i < cells.size(); ++i) {
      if (!filled[i]) continue;
      const std::string text = html_text(cells[i].text);
      const bool hinted = !cells[i].hint.empty() && cells[i].hint != cells[i].text;
      const std::string shown =
          hinted     ? fmt::format("<span title=\"{}\">{}</span>", html_text(cells[i].hint), text)
          : i < left ? breakable(text)
                     : text;
      out += fmt::format("<{0}{1}>{2}</{0}>", tag, i < left ? " class=\"text\"" : "", shown);
    }
    return out + "</tr>\n";
  };
  std::string out = "<div class=\"scroll\"><table>\n";
  const bool named = std::any_of(header.begin(), header.end(),
                                 [](const std::string& name) { return !name.empty(); });
  if (named) {
    out += "<thead>" + row({header.begin(), header.end()}, "th") + "</thead>\n";
  }
  out += "<tbody>\n";
  for (const auto& cells : rows) out += row(cells, "td");
  return out + "</tbody></table></div>\n";
}

namespace {

std::string section_text(const HtmlSection& section) {
  const std::string gist =
      section.gist.empty() ? "" : fmt::format("<span>{}</span>", html_text(section.gist));
  return fmt::format(
      "<details{}>\n<summary><h2>{}</h2>{}</summary>\n<p id=\"{}\">{}</p>\n{}</details>\n",
      section.open ? " open" : "", html_text(section.title), gist, section.id,
      html_prose(section.explanation), section.body);
}

}  // namespace

std::string html_page(const std::string& title, const std::vector<HtmlSection>& sections) {
  std::string contents, body;
  for (const HtmlSection& section : sections) {
    if (section.body.empty()) continue;
    contents += fmt::format("<a href=\"#{}\">{}</a>\n", section.id, html_text(section.title));
    body += section_text(section);
  }
  return fmt::format(
      "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<title>{0}</title>\n<style>{1}</style>\n</head>\n<body>\n<h1>{0}</h1>\n<nav>\n{2}</nav>\n"
      "{3}</body>\n</html>\n",
      html_text(title), kStyle, contents, body);
}

}  // namespace fuseflow
