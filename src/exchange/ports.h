// What streams an operation of a ComalGraph takes and gives, whatever its kind.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <vector>

#include "exchange/comal.pb.h"

namespace fuseflow {

enum class PortKind : uint8_t { crd, ref, val, signal };

/// A stream of a ComalGraph. Id 0: not connected.
struct PortKey {
  PortKind kind = PortKind::crd;
  uint64_t id = 0;
  auto operator<=>(const PortKey&) const = default;  // NOLINT(modernize-use-nullptr): clang-tidy 14
};

inline PortKey key_of(const comal::CrdStream& s) {
  return {PortKind::crd, s.id().id()};
}
inline PortKey key_of(const comal::RefStream& s) {
  return {PortKind::ref, s.id().id()};
}
inline PortKey key_of(const comal::ValStream& s) {
  return {PortKind::val, s.id().id()};
}
inline PortKey key_of(const comal::RepSigStream& s) {
  return {PortKind::signal, s.id().id()};
}
/// Id 0 for a number.
PortKey key_of(const comal::Extension::Port& port);

struct Ports {
  std::vector<PortKey> inputs;
  std::vector<PortKey> outputs;
  std::vector<PortKey> looked_at;  ///< the extension's inputs beside an operation of Comal's
};

/// The connected ones, in the order of the fields.
Ports ports_of(const comal::Operation& operation);

/// "fiber_lookup", or what the extension says; empty: an operation of no known kind.
std::string kind_of(const comal::Operation& operation);

/// "operation 7 (fiber_lookup B)": how messages call it.
std::string text_of(const comal::Operation& operation);

}  // namespace fuseflow
