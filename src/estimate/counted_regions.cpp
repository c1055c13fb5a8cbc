#include "estimate/counted_regions.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "graph/fingerprint.h"
#include "tensor/format.h"

namespace fuseflow {

namespace {

/// Most bytes of patterns that are kept: above, they are forgotten and counted anew.
constexpr int64_t kMostBytes = int64_t{1} << 28;

class PatternHash {
 public:
  template <typename Number>
  void add(const std::vector<Number>& numbers) {
    add(numbers.size());
    for (const Number number : numbers) add(static_cast<uint64_t>(number));
  }
  uint64_t value() const { return hash_; }

 private:
  void add(uint64_t number) {
    hash_ = (hash_ ^ number) * 0xbf58476d1ce4e5b9ULL;
    hash_ ^= hash_ >> 31;
  }
  uint64_t hash_ = 0x9e3779b97f4a7c15ULL;
};

uint64_t hash_of(const Storage& pattern) {
  PatternHash hash;
  for (const Level& level : pattern.levels) {
    hash.add(level.pos);
    hash.add(level.crd);
    hash.add(level.words);
  }
  return hash.value();
}

bool same_pattern(const Storage& a, const Storage& b) {
  const auto same_level = [](const Level& x, const Level& y) {
    return x.kind == y.kind && x.extent == y.extent && x.pos == y.pos && x.crd == y.crd &&
           x.words == y.words;
  };
  return a.shape == b.shape && a.format == b.format && same_value(a.fill, b.fill) &&
         a.levels.size() == b.levels.size() &&
         std::equal(a.levels.begin(), a.levels.end(), b.levels.begin(), same_level);
}

/// What an estimate depends on of a declaration.
std::string declared(const Tensor& tensor) {
  std::string text =
      fmt::format("|{} {} {} {} {} {}", static_cast<int>(tensor.role),
                  static_cast<int>(tensor.type), to_string(tensor.format), tensor.fill,
                  static_cast<int>(tensor.placement), to_string(tensor.source));
  for (const Extent& extent : tensor.shape) text += fmt::format(" {}", extent.value);
  return text;
}

/// What a pattern takes here, whatever the type of its values is.
int64_t host_bytes(const Storage& storage) {
  size_t bytes = sizeof(float) * storage.values.size();
  for (const Level& level : storage.levels) {
    bytes += sizeof(uint32_t) * (level.pos.size() + level.crd.size()) +
             sizeof(uint64_t) * level.words.size();
  }
  return static_cast<int64_t>(bytes);
}

}  // namespace

CountedRegions::Key CountedRegions::key_of(const Program& program, const Region& region,
                                           const KnownPatterns& known) {
  std::set<TensorId> named;
  for (const Node& node : region.graph->nodes) {
    for_tensors(node, [&](TensorId tensor) { named.insert(tensor); });
  }
  Key key{fmt::format("{:x} {}", fingerprint(*region.graph), region.name), {}};
  for (const TensorId tensor : named) {
    const auto t = static_cast<size_t>(tensor);
    key.text += fmt::format("|{}{}", tensor, declared(program.tensors[t]));
    const std::shared_ptr<const Storage>& pattern = known.data.storage[t];
    key.text += fmt::format(" {} {}", fmt::ptr(pattern.get()), known.uncertain[t]);
    if (pattern) key.read.push_back(pattern);
  }
  return key;
}

const CountedRegion* CountedRegions::find(const Key& key) const {
  const auto found = regions_.find(key.text);
  return found == regions_.end() ? nullptr : &found->second.counted;
}

const CountedRegion& CountedRegions::keep(Key key, CountedRegion counted) {
  make_room();
  for (CountedRegion::Written& written : counted.written) {
    if (written.pattern) written.pattern = only(std::move(written.pattern));
  }
  Entry& entry = regions_[std::move(key.text)];
  entry = {std::move(counted), std::move(key.read)};
  return entry.counted;
}

std::shared_ptr<const Storage> CountedRegions::only(std::shared_ptr<const Storage> pattern) {
  const uint64_t hash = hash_of(*pattern);
  const auto [first, last] = patterns_.equal_range(hash);
  const auto same = std::find_if(
      first, last, [&](const auto& entry) { return same_pattern(*entry.second, *pattern); });
  if (same != last) return same->second;
  bytes_ += host_bytes(*pattern);
  patterns_.emplace(hash, pattern);
  return pattern;
}

void CountedRegions::make_room() {
  if (bytes_ <= kMostBytes) return;
  regions_.clear();
  patterns_.clear();
  bytes_ = 0;
}

}  // namespace fuseflow
