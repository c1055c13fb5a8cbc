#include "cluster/chain/chain_key.h"

#include <array>
#include <optional>

namespace fuseflow::cluster {
namespace {

void add_bytes(Key& key, const ElementBytes& bytes) {
  const auto& [a, b, d, e, c, bias0, bias1, residual] = bytes;
  key.numbers(std::array{a, b, d, e, c, bias0, bias1, residual});
}

void add_term(Key& key, const KernelTerm& term) {
  const auto& [kind, its_tensor, subscripts, constant, op, reduction, children] = term;
  key.number(static_cast<int64_t>(kind));
  key.tensor(its_tensor);
  key.add_all(subscripts);
  key.real(constant);
  key.number(static_cast<int64_t>(op));
  key.number(static_cast<int64_t>(reduction));
  key.numbers(children);
}

void add_terms(Key& key, const std::vector<KernelTerm>& terms) {
  key.number(static_cast<int64_t>(terms.size()));
  for (const KernelTerm& term : terms) add_term(key, term);
}

void add_chain(Key& key, const Chain& chain) {
  const auto& [name, kind, size, activation, bias0, bias1, residual, last_activation, bytes, work,
               last_work, channels, side, kernel, by_threads, unpadded] = chain;
  key.number(static_cast<int64_t>(kind));
  key.numbers(size.value);
  key.numbers(unpadded.value_or(size).value);
  key.numbers(std::array<int64_t, 5>{static_cast<int64_t>(activation), bias0, bias1, residual,
                                     static_cast<int64_t>(last_activation)});
  add_bytes(key, bytes);
  for (const std::optional<LaneWork>& found : {work, last_work}) {
    key.number(found ? 1 : 0);
    if (!found) continue;
    const auto& [vector, compare, special] = *found;
    key.numbers(std::array{vector, compare, special});
  }
  key.numbers(std::array{channels, side, kernel});
  for (const bool each : {by_threads.a, by_threads.b, by_threads.d}) key.number(each ? 1 : 0);
}

}  // namespace

Key search_key(const Chain& chain, const Machine& machine, const Effort& effort) {
  Key key;
  key.add(machine);
  add_chain(key, chain);
  key.add(effort);
  return key;
}

void add_form(Key& key, const ChainForm& form) {
  const auto& [digits, a, d, store, b, first, last, of_size_e, c, tensors, bytes] = form;
  key.number(static_cast<int64_t>(digits.size()));
  for (const auto& [name, extent, dim, summed] : digits) {
    key.number(extent);
    key.number(static_cast<int64_t>(dim));
  }
  add_terms(key, {a, d, store});
  add_terms(key, b);
  add_terms(key, first);
  add_terms(key, last);
  key.numbers(of_size_e);
  key.tensor(c);
  key.add(tensors);
  add_bytes(key, bytes);
}

}  // namespace fuseflow::cluster
