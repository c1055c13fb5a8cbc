#include "report/html.h"

#include <fmt/format.h>

#include "support/text.h"

namespace fuseflow {
namespace {

constexpr const char* kStyle = R"css(
:root { color-scheme: light dark; --ink: #1c2430; --soft: #5b6675; --paper: #ffffff; --grid: #d9dee5;
  --busy: #2b6cb0; --memory: #7a5bb5; --starved: #d9a441; --blocked: #c05353; --other: #8a95a3; }
@media (prefers-color-scheme: dark) { :root { --ink: #e4e8ee; --soft: #9aa6b5; --paper: #14181d;
  --grid: #343c46; --busy: #63a4e0; --memory: #b09ae0; --starved: #e0b868; --blocked: #e07c7c; --other: #76818f; } }
body { font: 15px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper);
  max-width: 72rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.15rem; margin: 2.2rem 0 .3rem; }
p { max-width: 46rem; color: var(--soft); margin: .2rem 0 .8rem; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; font-size: .87rem; }
th, td { padding: .2rem .6rem; text-align: right; border-bottom: 1px solid var(--grid); }
th { white-space: nowrap; } td.text, th.text { text-align: left; }
td.text { overflow-wrap: anywhere; min-width: 8rem; } td.text:first-child { min-width: 4.5rem; }
.chart text { fill: var(--ink); font: 12px system-ui, sans-serif; }
.chart .soft { fill: var(--soft); } .chart .grid { stroke: var(--grid); fill: none; }
.chart .line { stroke: var(--busy); fill: none; stroke-width: 1.5; }
.chart .roof { stroke: var(--soft); fill: none; stroke-width: 1.5; }
.busy { fill: var(--busy); } .memory { fill: var(--memory); } .starved { fill: var(--starved); } .blocked { fill: var(--blocked); }
.other { fill: var(--other); }
.scale span { color: #1c2430; padding: .1rem .5rem; border: 1px solid var(--grid); }
.scroll { overflow-x: auto; } .graph { background: #ffffff; padding: .5rem; border: 1px solid var(--grid); }
.graph svg { max-width: 100%; height: auto; min-width: var(--least); }
@media print { body { max-width: none; margin: 0; } section { break-inside: avoid-page; } }
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
                       const std::vector<std::vector<std::string>>& rows, size_t left) {
  const auto row = [&](const std::vector<std::string>& cells, const char* tag) {
    std::string out = "<tr>";
    for (size_t i = 0; i < cells.size(); ++i) {
      out += fmt::format("<{0}{1}>{2}</{0}>", tag, i < left ? " class=\"text\"" : "",
                         i < left ? breakable(html_text(cells[i])) : html_text(cells[i]));
    }
    return out + "</tr>\n";
  };
  std::string out =
      "<div class=\"scroll\"><table>\n<thead>" + row(header, "th") + "</thead>\n<tbody>\n";
  for (const auto& cells : rows) out += row(cells, "td");
  return out + "</tbody></table></div>\n";
}

std::string html_section(const std::string& title, const std::string& explanation,
                         const std::string& body) {
  if (body.empty()) return "";
  return fmt::format("<section>\n<h2>{}</h2>\n<p>{}</p>\n{}</section>\n", html_text(title),
                     html_text(explanation), body);
}

std::string html_page(const std::string& title, const std::string& body) {
  return fmt::format(
      "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<title>{0}</title>\n<style>{1}</style>\n</head>\n<body>\n<h1>{0}</h1>\n{2}</body>\n</"
      "html>\n",
      html_text(title), kStyle, body);
}

}  // namespace fuseflow
