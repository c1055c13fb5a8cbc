// Types with members that take much code to copy: how they are copied is compiled in one source.
// Left implicit, it is compiled again in every source that uses the type.
#pragma once

// A type's name in a declaration takes no parentheses: NOLINTBEGIN(bugprone-macro-parentheses)
/// Inside of a struct: declares what constructs, destroys, copies and moves it.
#define FUSEFLOW_VALUE_TYPE(Type) \
  Type();                         \
  ~Type();                        \
  Type(const Type&);              \
  Type(Type&&) noexcept;          \
  Type& operator=(const Type&);   \
  Type& operator=(Type&&) noexcept

/// In one source: defines them, as the compiler would.
#define FUSEFLOW_DEFINE_VALUE_TYPE(Type)        \
  Type::Type() = default;                       \
  Type::~Type() = default;                      \
  Type::Type(const Type&) = default;            \
  Type::Type(Type&&) noexcept = default;        \
  Type& Type::operator=(const Type&) = default; \
  Type& Type::operator=(Type&&) noexcept = default
// NOLINTEND(bugprone-macro-parentheses)
