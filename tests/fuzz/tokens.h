// Changes texts token by token, so that much of what comes out is well formed and wrong.
#pragma once

#include <cstddef>
#include <random>
#include <string>

namespace fuseflow::fuzz {

using Random = std::mt19937;

/// A number from 0 to n - 1; 0 for n = 0.
size_t below(Random& random, size_t n);

/// Makes one to four changes: a token replaced, removed, repeated or exchanged for one of its kind
/// (name, number, other), or a line removed, repeated or moved. Tokens are mostly those that follow
/// the word `after`, where the text has it, else any.
void change_text(std::string& text, const std::string& after, Random& random);

}  // namespace fuseflow::fuzz
