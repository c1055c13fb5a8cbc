#include "estimate/counted_regions.h"

#include <algorithm>
#include <bit>
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

uint64_t hash_of_pattern(const Storage& pattern) {
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

using Numbers = std::vector<int64_t>;

void add_text(const std::string& text, Numbers& to) {
  to.push_back(static_cast<int64_t>(text.size()));
  to.insert(to.end(), text.begin(), text.end());
}

template <typename T>
void add_list(const std::vector<T>& list, Numbers& to) {
  to.push_back(static_cast<int64_t>(list.size()));
  for (const T each : list) to.push_back(static_cast<int64_t>(each));
}

void add_source(const Source& source, Numbers& to) {
  const auto& [kind, path, name, params, values, nnz] = source;
  to.push_back(static_cast<int64_t>(kind));
  add_text(path, to);
  add_text(name, to);
  to.push_back(static_cast<int64_t>(params.size()));
  for (const auto& [key, value] : params) {
    add_text(key, to);
    add_text(value, to);
  }
  to.push_back(static_cast<int64_t>(values.size()));
  for (const float value : values) to.push_back(std::bit_cast<int32_t>(value));
  to.push_back(nnz.value_or(-1));
}

/// What an estimate depends on of a declaration.
void add_declared(const Tensor& tensor, Numbers& to) {
  to.push_back(static_cast<int64_t>(tensor.role));
  to.push_back(static_cast<int64_t>(tensor.type));
  to.push_back(static_cast<int64_t>(tensor.placement));
  to.push_back(std::bit_cast<int32_t>(tensor.fill));
  add_list(tensor.format.levels, to);
  add_list(tensor.format.mode_order, to);
  add_list(tensor.format.block, to);
  for (const Extent& extent : tensor.shape) to.push_back(extent.value);
  add_source(tensor.source, to);
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
  Key key;
  key.numbers.push_back(std::bit_cast<int64_t>(fingerprint(*region.graph)));
  add_text(region.name, key.numbers);
  for (const TensorId tensor : named) {
    const auto t = static_cast<size_t>(tensor);
    const std::shared_ptr<const Storage>& pattern = known.data.storage[t];
    key.numbers.push_back(tensor);
    add_declared(program.tensors[t], key.numbers);
    key.numbers.push_back(std::bit_cast<int64_t>(pattern.get()));
    key.numbers.push_back(known.uncertain[t] ? 1 : 0);
    if (pattern) key.read.push_back(pattern);
  }
  return key;
}

const CountedRegion* CountedRegions::find(const Key& key) const {
  const auto found = regions_.find(key.numbers);
  return found == regions_.end() ? nullptr : &found->second.counted;
}

const CountedRegion& CountedRegions::keep(Key key, CountedRegion counted) {
  make_room();
  for (CountedRegion::Written& written : counted.written) {
    if (written.pattern) written.pattern = only(std::move(written.pattern));
  }
  Entry& entry = regions_[std::move(key.numbers)];
  entry = {std::move(counted), std::move(key.read)};
  return entry.counted;
}

std::shared_ptr<const Storage> CountedRegions::only(std::shared_ptr<const Storage> pattern) {
  const uint64_t hash = hash_of_pattern(*pattern);
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
