// Faults that are switched on at run time (scripts/mutate): included in front of every source that
// has some, in a scratch copy of the tree only. FUSEFLOW_MUTANT=N switches on fault N.
// FUSEFLOW_MUTANT_REACHED names a file to which a process appends, at its end, the faults whose
// places it reached.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <initializer_list>
#include <string>
#include <type_traits>

// What stands in for an operator reads unlike what people write; that is no reason to refuse it.
#pragma GCC diagnostic ignored "-Wparentheses"
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wfloat-conversion"
#pragma GCC diagnostic ignored "-Wsign-compare"
#pragma GCC diagnostic ignored "-Wextra"
#pragma GCC diagnostic ignored "-Wbool-compare"
#pragma GCC diagnostic ignored "-Wbool-operation"
#pragma GCC diagnostic ignored "-Wint-in-bool-context"
#pragma GCC diagnostic ignored "-Wtype-limits"
#pragma GCC diagnostic ignored "-Wunused-value"
#pragma GCC diagnostic ignored "-Wunused-variable"

namespace fuseflow_mutants {

inline constexpr int kMost = 4096;

struct State {
  int active = -1;
  bool reached[kMost] = {};
  State() {
    const char* text = std::getenv("FUSEFLOW_MUTANT");
    if (text != nullptr && *text != 0) active = std::atoi(text);
  }
  ~State() {
    const char* path = std::getenv("FUSEFLOW_MUTANT_REACHED");
    if (path == nullptr) return;
    std::string text;
    for (int i = 0; i < kMost; ++i) {
      if (reached[i]) text += std::to_string(i) + "\n";
    }
    const int file = ::open(path, O_WRONLY | O_CREAT | O_APPEND, 0644);
    if (file >= 0 && ::write(file, text.data(), text.size()) >= 0) ::close(file);
  }
};
inline State state;

/// Whether a fault is on.
inline bool on(int id) {
  state.reached[id] = true;
  return state.active == id;
}

/// What stands between two operands and their operator: `a + Other<'-'>{7} + b` is a + b, or a - b
/// with fault 7 on; 0 drops b.
template <char kOperator>
struct Other {
  int id;
};
template <typename A, char kOperator>
struct Left {
  const A& a;
  int id;
};

#define FUSEFLOW_MUTANT_OPERATOR(OP)                           \
  template <typename A, char k>                                \
  Left<A, k> operator OP(const A& a, Other<k> other) {         \
    return {a, other.id};                                      \
  }                                                            \
  template <typename A, char k, typename B>                    \
  auto operator OP(Left<A, k> left, const B& b) {              \
    using Result = std::decay_t<decltype(left.a OP b)>;        \
    if (!on(left.id)) return static_cast<Result>(left.a OP b); \
    return static_cast<Result>(apply<k>(left.a, b));           \
  }

template <char k, typename A, typename B>
auto apply(const A& a, const B& b) {
  if constexpr (k == '+') return a + b;
  if constexpr (k == '-') return a - b;
  if constexpr (k == '*') return a * b;
  if constexpr (k == '/') return a / b;
  if constexpr (k == '<') return a < b;
  if constexpr (k == '>') return a > b;
  if constexpr (k == 'l') return a <= b;
  if constexpr (k == 'g') return a >= b;
  if constexpr (k == '=') return a == b;
  if constexpr (k == '!') return a != b;
  if constexpr (k == '0') return a;
}

FUSEFLOW_MUTANT_OPERATOR(+)
FUSEFLOW_MUTANT_OPERATOR(-)
FUSEFLOW_MUTANT_OPERATOR(*)
FUSEFLOW_MUTANT_OPERATOR(/)
FUSEFLOW_MUTANT_OPERATOR(%)
FUSEFLOW_MUTANT_OPERATOR(<)
FUSEFLOW_MUTANT_OPERATOR(>)
FUSEFLOW_MUTANT_OPERATOR(<=)
FUSEFLOW_MUTANT_OPERATOR(>=)
FUSEFLOW_MUTANT_OPERATOR(==)
FUSEFLOW_MUTANT_OPERATOR(!=)

/// `a && Dropped{7} | b` is a && b, or a; `a || Dropped{7} & b` is a || b, or a.
struct Dropped {
  int id;
};
template <typename B>
bool operator|(Dropped dropped, const B& b) {
  return on(dropped.id) || static_cast<bool>(b);
}
template <typename B>
bool operator&(Dropped dropped, const B& b) {
  return !on(dropped.id) && static_cast<bool>(b);
}

/// std::min and std::max, exchanged when the fault is on.
template <bool kLeast>
struct Extreme {
  int id;
  template <typename T>
  T operator()(const T& a, const T& b) const {
    return on(id) != kLeast ? std::min(a, b) : std::max(a, b);
  }
  template <typename T>
  T operator()(std::initializer_list<T> list) const {
    return on(id) != kLeast ? std::min(list) : std::max(list);
  }
};
template <typename T, bool kLeast>
struct ExtremeOf {
  int id;
  T operator()(const T& a, const T& b) const {
    return on(id) != kLeast ? std::min<T>(a, b) : std::max<T>(a, b);
  }
};

}  // namespace fuseflow_mutants
