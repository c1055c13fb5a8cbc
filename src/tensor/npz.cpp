// .npz archives: arrays by name (numpy.savez), and sparse matrices (scipy.sparse.save_npz), which
// are archives with the members format, shape, data and the indices.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "support/error.h"
#include "tensor/inflate.h"
#include "tensor/limits.h"
#include "tensor/npy.h"
#include "tensor/readers.h"

namespace fuseflow {

namespace {

[[noreturn]] void reject_npz(const std::string& path, const std::string& message) {
  throw Error(ExitCode::rejected, Location{path}, message);
}

/// A matrix as scipy stores it.
class SparseReader {
 public:
  SparseReader(const ZipFile& zip, const std::string& path) : zip_(zip), path_(path) {}

  RawTensor read() {
    const std::string format = text("format.npy");
    if (format != "coo" && format != "csr" && format != "csc") {
      reject_npz(path_,
                 fmt::format("a sparse matrix of format {} is not read, expected csr, csc or "
                             "coo: save it with .tocsr()",
                             format.substr(0, 20)));
    }
    const std::vector<int64_t> shape = integers("shape.npy");
    if (shape.size() != 2 || shape[0] < 0 || shape[1] < 0 || shape[0] > kMaxStored ||
        shape[1] > kMaxStored) {
      reject_npz(path_, fmt::format("shape [{}], expected a matrix of extents up to {}",
                                    fmt::join(shape, ","), kMaxStored));
    }
    RawTensor values = parse_npy(zip_.read("data.npy"), path_ + ":data");
    if (values.shape.size() != 1) reject_npz(path_, "data has several dimensions, expected one");
    Coo entries{shape, {}, std::get<Buffer<float>>(values.data).to_vector()};
    if (format == "coo") {
      entries.coords = {coordinates("row.npy", entries, 0), coordinates("col.npy", entries, 1)};
    } else {
      compressed(entries, format == "csr" ? 0 : 1);
    }
    check_distinct(entries);
    RawTensor raw;
    raw.shape = shape;
    raw.element = values.element;
    raw.data = std::move(entries);
    raw.origin = path_;
    return raw;
  }

 private:
  /// A single string, of bytes or of UCS4 characters.
  std::string text(const std::string& member) const {
    const std::string bytes = zip_.read(member);
    std::string result(bytes.substr(npy_data_offset(bytes, path_ + ":" + member)));
    std::erase(result, '\0');
    return result;
  }

  std::vector<int64_t> integers(const std::string& member) const {
    if (!zip_.has(member))
      reject_npz(path_, fmt::format("no member '{}', which its format needs", member));
    RawTensor raw = parse_npy(zip_.read(member), path_ + ":" + member);
    const bool whole = raw.element == ElementType::i32 || raw.element == ElementType::i64;
    if (raw.shape.size() != 1 || !whole)
      reject_npz(path_, fmt::format("member '{}' is not a list of integers", member));
    return std::move(raw.integers);
  }

  std::vector<uint32_t> coordinates(const std::string& member, const Coo& entries,
                                    size_t dim) const {
    const std::vector<int64_t> given = integers(member);
    if (given.size() != entries.values.size()) {
      reject_npz(path_, fmt::format("{} values, but {} entries in member '{}'",
                                    entries.values.size(), given.size(), member));
    }
    std::vector<uint32_t> result;
    result.reserve(given.size());
    for (size_t e = 0; e < given.size(); ++e) {
      if (given[e] < 0 || given[e] >= entries.shape[dim]) {
        reject_npz(path_, fmt::format("entry {} of member '{}' is {}, expected 0 to {}", e, member,
                                      given[e], entries.shape[dim] - 1));
      }
      result.push_back(static_cast<uint32_t>(given[e]));
    }
    return result;
  }

  /// indptr and indices: `outer` is the dimension whose fibers follow one another.
  void compressed(Coo& entries, size_t outer) const {
    const size_t inner = 1 - outer;
    entries.coords.resize(2);
    entries.coords[inner] = coordinates("indices.npy", entries, inner);
    const std::vector<int64_t> starts = integers("indptr.npy");
    const auto count = static_cast<int64_t>(entries.values.size());
    const bool sound = static_cast<int64_t>(starts.size()) == entries.shape[outer] + 1 &&
                       starts.front() == 0 && starts.back() == count &&
                       std::is_sorted(starts.begin(), starts.end());
    if (!sound) {
      reject_npz(path_, fmt::format("indptr does not divide {} entries among {} rows or columns: "
                                    "expected {} ascending numbers from 0 to {}",
                                    count, entries.shape[outer], entries.shape[outer] + 1, count));
    }
    std::vector<uint32_t>& coords = entries.coords[outer];
    coords.reserve(entries.values.size());
    for (size_t fiber = 0; fiber + 1 < starts.size(); ++fiber) {
      coords.insert(coords.end(), static_cast<size_t>(starts[fiber + 1] - starts[fiber]),
                    static_cast<uint32_t>(fiber));
    }
  }

  /// scipy adds up entries of one coordinate; here it is a mistake, as in the other formats.
  void check_distinct(const Coo& entries) const {
    std::vector<uint64_t> keys;
    keys.reserve(entries.values.size());
    for (size_t e = 0; e < entries.values.size(); ++e) {
      keys.push_back(uint64_t{entries.coords[0][e]} << 32 | entries.coords[1][e]);
    }
    if (!std::is_sorted(keys.begin(), keys.end())) std::sort(keys.begin(), keys.end());
    const auto twice = std::adjacent_find(keys.begin(), keys.end());
    if (twice == keys.end()) return;
    reject_npz(path_,
               fmt::format("coordinate [{},{}] (counted from 0) occurs twice, expected every "
                           "coordinate at most once: save it after .sum_duplicates()",
                           *twice >> 32, *twice & 0xffffffffU));
  }

  const ZipFile& zip_;
  const std::string& path_;
};

/// Names of arrays, as numpy shows them.
std::vector<std::string> array_names(const ZipFile& zip) {
  std::vector<std::string> names;
  for (const std::string& name : zip.names()) {
    if (name.ends_with(".npy")) names.push_back(name.substr(0, name.size() - 4));
  }
  return names;
}

std::string listed(std::vector<std::string> names) {
  constexpr size_t kMost = 10;
  const bool cut = names.size() > kMost;
  if (cut) names.resize(kMost);
  return fmt::format("{}{}", fmt::join(names, ", "), cut ? ", ..." : "");
}

}  // namespace

RawTensor read_npz(const std::string& file, const std::string& member) {
  const ZipFile zip(file);
  const std::vector<std::string> names = array_names(zip);
  if (names.empty()) reject_npz(file, "no arrays in the archive, expected members NAME.npy");
  const auto is_there = [&](const char* name) { return zip.has(std::string(name) + ".npy"); };
  if (member.empty() && is_there("format") && is_there("shape") && is_there("data"))
    return SparseReader(zip, file).read();
  if (member.empty() && names.size() > 1) {
    reject_npz(file, fmt::format("{} arrays in the archive, expected FILE.npz:NAME with one of {}",
                                 names.size(), listed(names)));
  }
  const std::string name = member.empty() ? names.front() : member;
  if (std::find(names.begin(), names.end(), name) == names.end()) {
    reject_npz(
        file, fmt::format("no array '{}' in the archive, expected one of {}", name, listed(names)));
  }
  return parse_npy(zip.read(name + ".npy"), file + ":" + name);
}

}  // namespace fuseflow
