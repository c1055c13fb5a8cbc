// Decompression of whole files, with bounds on what comes out: a file of a few kilobytes may claim,
// or hold, more than any machine can.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace fuseflow {

/// Deflate makes at most this many bytes of one.
inline constexpr uint64_t kMostInflation = 1032;

/// The text of a gzip file (members one after the other are joined). `limit` is asked once, with
/// the beginning of the text (kHeadBytes, or all of it), for the most bytes that it may have.
/// Throws Error(rejected) for what is no gzip file, is damaged or truncated, or exceeds the limit.
inline constexpr size_t kHeadBytes = size_t{1} << 20;
std::string gunzip(std::string_view bytes, const std::string& path,
                   const std::function<uint64_t(std::string_view head)>& limit);

/// A zip archive, as numpy.savez writes it: members that are stored or deflated, not encrypted.
class ZipFile {
 public:
  /// Throws Error(io) if the file cannot be read, Error(rejected) if it is no sound archive.
  explicit ZipFile(const std::string& path);
  ~ZipFile();
  ZipFile(const ZipFile&) = delete;
  ZipFile& operator=(const ZipFile&) = delete;

  const std::vector<std::string>& names() const { return names_; }
  bool has(std::string_view name) const;
  /// The whole of a member. Throws Error(rejected) if its sizes lie or it is damaged.
  std::string read(const std::string& name) const;

 private:
  void* archive_ = nullptr;
  std::string path_;
  std::vector<std::string> names_;
};

}  // namespace fuseflow
