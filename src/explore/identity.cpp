#include "explore/identity.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <bit>
#include <utility>
#include <vector>

#include "ir/print.h"
#include "machine/load.h"
#include "support/fnv1a.h"

namespace fuseflow {

namespace {

std::string hash_of(const std::string& text) {
  return fmt::format("{:016x}", fnv1a(text));
}

/// A hash of the values of tensors, a whole word at a time, since data may be large.
class ContentHash {
 public:
  void add(uint64_t number) {
    hash_ = (hash_ ^ number) * 0xbf58476d1ce4e5b9ULL;
    hash_ ^= hash_ >> 31;
  }
  template <typename Numbers>
  void add_all(const Numbers& numbers) {
    add(numbers.size());
    for (const auto number : numbers) add(uint64_t{number});
  }
  void add(const Storage& storage) {
    for (const Level& level : storage.levels) {
      add_all(level.pos);
      add_all(level.crd);
      add_all(level.words);
    }
    add(storage.values.size());
    for (const float value : storage.values) add(std::bit_cast<uint32_t>(value));
  }
  std::string text() const { return fmt::format("{:016x}", hash_); }

 private:
  uint64_t hash_ = 0x9e3779b97f4a7c15ULL;
};

std::string hash_of(const TensorData& data) {
  ContentHash hash;
  for (size_t t = 0; t < data.storage.size(); ++t) {
    if (data.storage[t] == nullptr) continue;
    hash.add(t);
    hash.add(*data.storage[t]);
  }
  return hash.text();
}

std::string options_text(const SearchOptions& options) {
  const SearchSpace& s = options.space;
  return fmt::format("{} {} {} {} {}; {}; {} {}; {}", s.max_kernels, s.max_orders, s.max_placements,
                     s.max_copies, s.max_climbs, fmt::join(options.blocks, " "),
                     name_of(options.objective), options.exhaustive,
                     options.planned ? options.planned->name : "");
}

std::string seeds_text(const SearchOptions& options) {
  std::string text;
  for (const WholeSeed& seed : options.seeds) {
    text += fmt::format("{}\n{}\n", seed.name, print_program(seed.program));
  }
  return text;
}

/// The parts with their names, in the order in which they are written.
std::array<std::pair<std::string_view, const std::string*>, 5> parts(const SearchIdentity& i) {
  return {{{"program", &i.program},
           {"data", &i.data},
           {"machine", &i.machine},
           {"options", &i.options},
           {"seeds", &i.seeds}}};
}

std::string part_text(const std::pair<std::string_view, const std::string*>& part) {
  return fmt::format("{}={}", part.first, *part.second);
}

}  // namespace

SearchIdentity identity_of(const Program& kernels, const TensorData& data, const Machine& machine,
                           const SearchOptions& options) {
  return {hash_of(print_program(kernels)), hash_of(data), hash_of(print_machine(machine)),
          hash_of(options_text(options)), hash_of(seeds_text(options))};
}

std::string text_of(const SearchIdentity& identity) {
  std::vector<std::string> texts;
  for (const auto& part : parts(identity)) texts.push_back(part_text(part));
  return fmt::format("{}", fmt::join(texts, " "));
}

std::string difference(const std::string& text, const SearchIdentity& identity) {
  if (text == text_of(identity)) return "";
  std::vector<std::string> others;
  for (const auto& part : parts(identity)) {
    const bool same = (" " + text + " ").find(" " + part_text(part) + " ") != std::string::npos;
    if (!same) others.push_back(fmt::format("the {}", part.first));
  }
  const bool one = others.size() == 1 && others[0] != "the options" && others[0] != "the seeds" &&
                   others[0] != "the data";
  return fmt::format("{} {}", fmt::join(others, " and "), one ? "is another" : "are others");
}

}  // namespace fuseflow
