#include "ir/foreign.h"

#include <algorithm>
#include <array>

namespace fuseflow::ir {

namespace {

constexpr std::array<Foreign, 44> kOperators = {
    {{"ln", "log"},           {"loge", "log"},         {"power", "pow"},
     {"powf", "pow"},         {"avg", "mean"},         {"average", "mean"},
     {"reduce_mean", "mean"}, {"reduce_sum", "sum"},   {"reducesum", "sum"},
     {"sigma", "sum"},        {"total", "sum"},        {"summation", "sum"},
     {"add_reduce", "sum"},   {"product", "prod"},     {"reduce_max", "max"},
     {"maximum", "max"},      {"fmax", "max"},         {"reduce_min", "min"},
     {"minimum", "min"},      {"fmin", "min"},         {"fabs", "abs"},
     {"sgn", "sign"},         {"negate", "neg"},       {"negative", "neg"},
     {"inv", "reciprocal"},   {"recip", "reciprocal"}, {"logistic", "sigmoid"},
     {"swish", "silu"},       {"multiply", "mul"},     {"times", "mul"},
     {"divide", "div"},       {"subtract", "sub"},     {"minus", "sub"},
     {"plus", "add"},         {"remainder", "mod"},    {"fmod", "mod"},
     {"select", "where"},     {"cond", "where"},       {"if", "where"},
     {"equal", "eq"},         {"not_equal", "ne"},     {"greater", "gt"},
     {"less", "lt"},          {"index", "coordinate"}}};

constexpr std::array<Foreign, 32> kDeclarations = {
    {{"output", "result"},     {"outputs", "result"},    {"out", "result"},
     {"return", "result"},     {"inputs", "input"},      {"in", "input"},
     {"arg", "input"},         {"param", "input"},       {"parameter", "input"},
     {"placeholder", "input"}, {"weight", "const"},      {"weights", "const"},
     {"constant", "const"},    {"initializer", "const"}, {"tensor", "temp"},
     {"var", "temp"},          {"let", "temp"},          {"tmp", "temp"},
     {"local", "temp"},        {"temporary", "temp"},    {"intermediate", "temp"},
     {"kernel", "region"},     {"func", "region"},       {"def", "region"},
     {"function", "region"},   {"block", "region"},      {"module", "program"},
     {"name", "program"},      {"dimension", "dim"},     {"extent", "dim"},
     {"size", "dim"},          {"symbol", "dim"}}};

/// Longer ones before what they begin with.
constexpr std::array<Foreign, 14> kSigns = {
    {{"//", "expected '#' before a comment"},
     {"/*", "expected '#' before a comment, on each of its lines"},
     {"**", "expected `pow(a, b)` for a power"},
     {"&&", "expected `and(a, b)`"},
     {"||", "expected `or(a, b)`"},
     {"=<", "expected '<='"},
     {"=>", "expected '>='"},
     {":=", "expected '='"},
     {"^", "expected `pow(a, b)` for a power"},
     {"&", "expected `and(a, b)`"},
     {"|", "expected `or(a, b)`, or `abs(a)` for an absolute value"},
     {"!", "expected `not(a)`"},
     {"~", "expected `not(a)`"},
     {"'", "expected '\"' around a string"}}};

constexpr std::array<Foreign, 30> kLookalikes = {
    {{"\u2212", "'-'"},          {"\u2013", "'-'"},           {"\u2014", "'-'"},
     {"\u00d7", "'*'"},          {"\u00b7", "'*'"},           {"\u22c5", "'*'"},
     {"\u2217", "'*'"},          {"\u2299", "'*'"},           {"\u00f7", "'/'"},
     {"\u2264", "'<='"},         {"\u2265", "'>='"},          {"\u2260", "'!='"},
     {"\u2254", "'='"},          {"\u2190", "'='"},           {"\u201c", "'\"'"},
     {"\u201d", "'\"'"},         {"\u2018", "'\"'"},          {"\u2019", "'\"'"},
     {"\uff0c", "','"},          {"\uff08", "'('"},           {"\uff09", "')'"},
     {"\u00a0", "a blank"},      {"\u2009", "a blank"},       {"\u200b", "nothing"},
     {"\u2211", "`sum(j) ...`"}, {"\u220f", "`prod(j) ...`"}, {"\u221e", "`inf`"},
     {"\u221a", "`sqrt(a)`"},    {"\u00b2", "`pow(a, 2)`"},   {"\u00b3", "`pow(a, 3)`"}}};

constexpr std::array<Foreign, 5> kAfterExpressions = {
    {{"@", "a product of matrices names its indices, `sum(k) %a[i, k] * %b[k, j]`"},
     {"?", "a choice is `where(condition, a, b)`"},
     {":", "a choice is `where(condition, a, b)`"},
     {";", "a statement ends with its line"},
     {"=", "a comparison for equality is `a == b`"}}};

}  // namespace

std::span<const Foreign> foreign_operators() {
  return kOperators;
}

std::span<const Foreign> foreign_declarations() {
  return kDeclarations;
}

Foreign foreign_sign(std::string_view text) {
  const auto* const found = std::find_if(kSigns.begin(), kSigns.end(), [&](const Foreign& sign) {
    return text.starts_with(sign.there);
  });
  return found == kSigns.end() ? Foreign{} : *found;
}

std::string_view ascii_for(std::string_view character) {
  for (const auto& [lookalike, instead] : kLookalikes) {
    if (character == lookalike) return instead;
  }
  return "";
}

std::string_view meant_after_expression(std::string_view sign) {
  for (const auto& [there, meant] : kAfterExpressions) {
    if (sign == there) return meant;
  }
  return "";
}

}  // namespace fuseflow::ir
