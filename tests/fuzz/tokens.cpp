#include "tokens.h"

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <vector>

namespace fuseflow::fuzz {

namespace {

using Tokens = std::vector<std::string>;

bool is_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.' || c == '$' ||
         c == '%' || c == '@';
}

/// Words, other characters one by one, and white space as it is.
Tokens split(const std::string& text) {
  const auto kind = [](char c) {
    return is_word(c) ? 1 : std::isspace(static_cast<unsigned char>(c)) != 0 ? 2 : 0;
  };
  Tokens tokens;
  for (size_t i = 0; i < text.size();) {
    size_t end = i + 1;
    while (kind(text[i]) != 0 && end < text.size() && kind(text[end]) == kind(text[i])) ++end;
    tokens.push_back(text.substr(i, end - i));
    i = end;
  }
  return tokens;
}

/// Streams, tensors, numbers and other words are told apart.
char class_of(const std::string& token) {
  const char c = token[0];
  if (std::isdigit(static_cast<unsigned char>(c)) != 0) return '0';
  if (std::isalpha(static_cast<unsigned char>(c)) != 0) return 'a';
  return std::isspace(static_cast<unsigned char>(c)) != 0 ? ' ' : c;
}

std::string other_number(Random& random) {
  static const std::vector<std::string> numbers = {"0", "1", "2",  "3",  "4",
                                                   "5", "8", "16", "64", "4294967295"};
  return numbers[below(random, numbers.size())];
}

/// A token of the same class elsewhere in the text.
size_t like(const Tokens& tokens, size_t at, Random& random) {
  std::vector<size_t> places;
  for (size_t i = 0; i < tokens.size(); ++i) {
    if (class_of(tokens[i]) == class_of(tokens[at]) && tokens[i] != tokens[at]) places.push_back(i);
  }
  return places.empty() ? at : places[below(random, places.size())];
}

void change_token(Tokens& tokens, const std::string& after, Random& random) {
  const auto graph = std::find(tokens.begin(), tokens.end(), after);
  const size_t first =
      random() % 8 == 0 ? 0 : static_cast<size_t>(graph - tokens.begin()) % tokens.size();
  size_t at = first + below(random, tokens.size() - first);
  for (int tries = 0; tries < 8 && class_of(tokens[at]) == ' '; ++tries) {
    at = first + below(random, tokens.size() - first);
  }
  const auto change = random() % 8;
  switch (change) {
    case 0:
      tokens.erase(tokens.begin() + static_cast<std::ptrdiff_t>(at));
      return;
    case 1:
      tokens.insert(tokens.begin() + static_cast<std::ptrdiff_t>(at), {tokens[at], " "});
      return;
    case 2:
      std::swap(tokens[at], tokens[like(tokens, at, random)]);
      return;
    default: {
      const bool number = change <= 4 && class_of(tokens[at]) == '0';
      tokens[at] = number ? other_number(random) : tokens[like(tokens, at, random)];
    }
  }
}

/// Drops, repeats or moves a line.
void change_line(std::string& text, Random& random) {
  std::vector<std::string> lines;
  for (size_t i = 0; i < text.size();) {
    const size_t end = std::min(text.find('\n', i), text.size() - 1) + 1;
    lines.push_back(text.substr(i, end - i));
    i = end;
  }
  const size_t at = below(random, lines.size());
  const std::string line = lines[at];
  if (random() % 3 != 0) lines.erase(lines.begin() + static_cast<std::ptrdiff_t>(at));
  if (random() % 3 != 0) {
    lines.insert(lines.begin() + static_cast<std::ptrdiff_t>(below(random, lines.size() + 1)),
                 line);
  }
  text.clear();
  for (const std::string& part : lines) text += part;
}

}  // namespace

size_t below(Random& random, size_t n) {
  return n == 0 ? 0 : random() % n;
}

void change_text(std::string& text, const std::string& after, Random& random) {
  for (size_t n = 1 + below(random, 4); n-- > 0 && !text.empty();) {
    if (random() % 5 == 0) {
      change_line(text, random);
      continue;
    }
    Tokens tokens = split(text);
    change_token(tokens, after, random);
    text.clear();
    for (const std::string& token : tokens) text += token;
  }
}

}  // namespace fuseflow::fuzz
