#include "tensor/npy.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <bit>
#include <charconv>
#include <cmath>
#include <cstring>
#include <optional>

#include "support/error.h"
#include "support/io.h"
#include "tensor/limits.h"
#include "tensor/reorder.h"

namespace fuseflow {

namespace {

static_assert(std::endian::native == std::endian::little, "npy data are copied as little-endian");

constexpr std::string_view kMagic("\x93NUMPY", 6);
constexpr size_t kMaxHeader = size_t{1} << 20;
constexpr size_t kAlignment = 64;

/// A cursor over the header's Python dictionary, which is parsed literally and never evaluated.
class HeaderParser {
 public:
  HeaderParser(std::string_view text, size_t offset, const std::string& path)
      : text_(text), offset_(offset), path_(path) {}

  NpyHeader parse() {
    NpyHeader header;
    std::optional<std::string> descr;
    bool has_order = false;
    bool has_shape = false;
    expect('{');
    while (peek() != '}') {
      const std::string key = quoted();
      expect(':');
      if (key == "descr" && !descr) {
        descr = descriptor();
      } else if (key == "fortran_order" && !has_order) {
        header.fortran_order = boolean();
        has_order = true;
      } else if (key == "shape" && !has_shape) {
        header.shape = tuple();
        has_shape = true;
      } else {
        fail(fmt::format("unexpected or repeated key '{}'", key),
             "descr, fortran_order and shape, once each");
      }
      if (peek() == ',')
        expect(',');
      else
        break;
    }
    expect('}');
    if (peek() != '\0') fail("text after the dictionary", "blanks");
    if (!descr || !has_order || !has_shape) {
      fail("an incomplete dictionary", "descr, fortran_order and shape");
    }
    header.element = element(*descr);
    header.descr = *descr;
    return header;
  }

 private:
  [[noreturn]] void fail(const std::string& what, const std::string& expected) const {
    throw Error(
        ExitCode::rejected, Location{path_},
        fmt::format("byte {}: {} in the .npy header, expected {}", offset_ + at_, what, expected));
  }

  char peek() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n')) ++at_;
    return at_ < text_.size() ? text_[at_] : '\0';
  }

  void expect(char c) {
    if (peek() != c) fail("unexpected text", fmt::format("'{}'", c));
    ++at_;
  }

  std::string quoted() {
    const char quote = peek();
    if (quote != '\'' && quote != '"') fail("unexpected text", "a quoted string");
    const size_t begin = ++at_;
    const size_t end = text_.find(quote, begin);
    if (end == std::string_view::npos) fail("an open string", "a closing quote");
    at_ = end + 1;
    return std::string(text_.substr(begin, end - begin));
  }

  std::string descriptor() {
    if (peek() == '[') fail("a structured element type", "a plain one such as '<f4'");
    return quoted();
  }

  bool boolean() {
    peek();
    for (const auto& [word, value] : {std::pair{"True", true}, std::pair{"False", false}}) {
      if (!text_.substr(at_).starts_with(word)) continue;
      at_ += std::string_view(word).size();
      return value;
    }
    fail("unexpected text", "True or False");
  }

  std::vector<int64_t> tuple() {
    std::vector<int64_t> extents;
    expect('(');
    while (peek() != ')') {
      int64_t extent = 0;
      const char* begin = text_.data() + at_;
      const auto [end, status] = std::from_chars(begin, text_.data() + text_.size(), extent);
      if (status != std::errc{} || extent < 0) fail("a bad extent", "a number from 0");
      at_ += static_cast<size_t>(end - begin);
      extents.push_back(extent);
      if (extents.size() > 16) fail("too many dimensions", "at most 16");
      if (peek() != ',') break;
      expect(',');
    }
    expect(')');
    return extents;
  }

  ElementType element(const std::string& descr) const {
    static const std::vector<std::pair<std::string, ElementType>> kTypes = {
        {"<f4", ElementType::f32},    {"<f8", ElementType::f64}, {"<f2", ElementType::f16},
        {"<i4", ElementType::i32},    {"<i8", ElementType::i64}, {"<i2", ElementType::i32},
        {"<u2", ElementType::i32},    {"|i1", ElementType::i8},  {"|u1", ElementType::u8},
        {"|b1", ElementType::boolean}};
    for (const auto& [name, type] : kTypes) {
      if (name == descr) return type;
    }
    if (descr.starts_with("|O") || descr == "O") {
      fail("an array of Python objects (a pickle)", "numbers; save it again with a numeric dtype");
    }
    const bool numeric = descr.find_first_of("fiub") != std::string::npos;
    if (!numeric) fail(fmt::format("element type '{}'", descr), "real numbers");
    const bool whole = descr.find_first_of("iu") != std::string::npos;
    fail(fmt::format("element type '{}'", descr),
         fmt::format("one of <f4 <f8 <f2 <i4 <i8 <i2 <u2 |i1 |u1 |b1; convert it with "
                     ".astype('{}')",
                     whole ? "<i8" : "<f4"));
  }

  std::string_view text_;
  size_t offset_;
  const std::string& path_;
  size_t at_ = 0;
};

float half_to_float(uint16_t half) {
  const uint32_t sign = static_cast<uint32_t>(half & 0x8000) << 16;
  const uint32_t exponent = half >> 10 & 0x1f;
  const uint32_t mantissa = half & 0x3ff;
  if (exponent == 0) {
    const float magnitude = std::ldexp(static_cast<float>(mantissa), -24);
    return sign != 0 ? -magnitude : magnitude;
  }
  const uint32_t biased = exponent == 31 ? 255 : exponent + 112;
  return std::bit_cast<float>(sign | biased << 23 | mantissa << 13);
}

/// Element e of packed little-endian data.
template <typename T>
T element_at(const char* data, size_t e) {
  T value;
  std::memcpy(&value, data + e * sizeof(T), sizeof(T));
  return value;
}

float narrowed(double value, size_t e, const std::string& path) {
  const auto result = static_cast<float>(value);
  if (std::isinf(result) && !std::isinf(value)) {
    throw Error(ExitCode::rejected, Location{path},
                fmt::format("element {} is {}, beyond the range of f32 in which everything is "
                            "computed, expected a magnitude below 3.4e38",
                            e, value));
  }
  return result;
}

template <typename T, typename Value>
std::vector<Value> decode_as(const char* data, size_t n) {
  std::vector<Value> values(n);
  for (size_t e = 0; e < n; ++e) values[e] = static_cast<Value>(element_at<T>(data, e));
  return values;
}

std::vector<float> decode(const NpyHeader& header, const char* data, size_t n,
                          const std::string& path) {
  std::vector<float> values;
  switch (header.element) {
    case ElementType::f32:
      values.resize(n);
      if (n > 0) std::memcpy(values.data(), data, n * sizeof(float));
      return values;
    case ElementType::f64:
      values.resize(n);
      for (size_t e = 0; e < n; ++e) values[e] = narrowed(element_at<double>(data, e), e, path);
      return values;
    case ElementType::f16:
      values.resize(n);
      for (size_t e = 0; e < n; ++e) values[e] = half_to_float(element_at<uint16_t>(data, e));
      return values;
    case ElementType::i32:
      if (header.descr == "<i2") return decode_as<int16_t, float>(data, n);
      if (header.descr == "<u2") return decode_as<uint16_t, float>(data, n);
      return decode_as<int32_t, float>(data, n);
    case ElementType::i64:
      return decode_as<int64_t, float>(data, n);
    case ElementType::i8:
      return decode_as<int8_t, float>(data, n);
    default:
      values.resize(n);
      for (size_t e = 0; e < n; ++e) {
        const auto byte = element_at<uint8_t>(data, e);
        values[e] = header.element == ElementType::boolean ? (byte != 0 ? 1.0F : 0.0F) : byte;
      }
      return values;
  }
}

/// Fortran order (first dimension fastest) to row-major: the file is the row-major array of the
/// reversed shape.
template <typename T>
std::vector<T> from_fortran(const std::vector<T>& values, const std::vector<int64_t>& shape) {
  const std::vector<int64_t> reversed(shape.rbegin(), shape.rend());
  std::vector<int> order(shape.size());
  for (size_t d = 0; d < order.size(); ++d) order[d] = static_cast<int>(order.size() - 1 - d);
  return reordered<T>(values, reversed, order);
}

/// Bytes of an element in the file.
int64_t stored_bytes(const NpyHeader& header) {
  return header.descr.ends_with('2') ? 2 : element_bytes(header.element);
}

/// Integers of types that f32 may round, and those read as such, exactly.
std::vector<int64_t> exact_integers(const NpyHeader& header, const char* data, size_t n) {
  if (header.descr == "<i8") return decode_as<int64_t, int64_t>(data, n);
  if (header.descr == "<i4") return decode_as<int32_t, int64_t>(data, n);
  if (header.descr == "<i2") return decode_as<int16_t, int64_t>(data, n);
  if (header.descr == "<u2") return decode_as<uint16_t, int64_t>(data, n);
  return {};
}

}  // namespace

namespace {

/// Where the header's text is.
struct Preamble {
  size_t begin = 0;
  size_t length = 0;
};

Preamble parse_preamble(std::string_view bytes, const std::string& path) {
  const auto reject = [&](size_t offset, const std::string& message) {
    throw Error(ExitCode::rejected, Location{path}, fmt::format("byte {}: {}", offset, message));
  };
  if (bytes.size() < 10 || bytes.substr(0, 6) != kMagic) {
    reject(0, "not a .npy file, expected one written by numpy.save");
  }
  const int major = static_cast<unsigned char>(bytes[6]);
  if (major < 1 || major > 3) {
    reject(6, fmt::format(".npy format version {}, expected 1, 2 or 3", major));
  }
  const size_t preamble = major == 1 ? 10 : 12;
  if (bytes.size() < preamble) reject(8, "the file is truncated in its preamble");
  const size_t length = major == 1 ? element_at<uint16_t>(bytes.data() + 8, 0)
                                   : element_at<uint32_t>(bytes.data() + 8, 0);
  if (length > kMaxHeader || length > bytes.size() - preamble) {
    reject(8, fmt::format("a header of {} bytes, but {} follow; the file is truncated or damaged",
                          length, bytes.size() - preamble));
  }
  return {preamble, length};
}

}  // namespace

size_t npy_data_offset(std::string_view bytes, const std::string& path) {
  const Preamble preamble = parse_preamble(bytes, path);
  return preamble.begin + preamble.length;
}

NpyHeader parse_npy_header(std::string_view bytes, const std::string& path) {
  const auto [begin, length] = parse_preamble(bytes, path);
  NpyHeader header = HeaderParser(bytes.substr(begin, length), begin, path).parse();
  header.data_offset = begin + length;
  return header;
}

RawTensor read_npy(const std::string& path) {
  return parse_npy(MappedFile(path).bytes(), path);
}

RawTensor parse_npy(std::string_view bytes, const std::string& path) {
  const NpyHeader header = parse_npy_header(bytes, path);
  uint64_t count = 1;
  for (const int64_t extent : header.shape) {
    count = extent == 0 ? 0 : saturating_product(count, static_cast<uint64_t>(extent));
    if (extent == 0) break;
  }
  const uint64_t expected = saturating_product(count, static_cast<uint64_t>(stored_bytes(header)));
  const uint64_t present = bytes.size() - header.data_offset;
  if (expected != present) {
    throw Error(
        ExitCode::rejected, Location{path},
        fmt::format("byte {}: shape ({}) of {} needs {} bytes of data, but the file has "
                    "{}; it is truncated or its header is wrong",
                    header.data_offset, fmt::join(header.shape, ", "), header.descr,
                    expected == UINT64_MAX ? "2^64 or more" : std::to_string(expected), present));
  }
  const char* data = bytes.data() + header.data_offset;
  std::vector<float> values = decode(header, data, count, path);
  std::vector<int64_t> integers = exact_integers(header, data, count);
  if (header.fortran_order && header.shape.size() > 1) {
    values = from_fortran(values, header.shape);
    if (!integers.empty()) integers = from_fortran(integers, header.shape);
  }
  return RawTensor{header.shape, header.element, Buffer<float>(std::move(values)),
                   std::move(integers), path};
}

std::string npy_bytes(std::span<const float> values, std::span<const int64_t> shape) {
  std::string dictionary =
      fmt::format("{{'descr': '<f4', 'fortran_order': False, 'shape': ({}{}), }}",
                  fmt::join(shape, ", "), shape.size() == 1 ? "," : "");
  const size_t preamble = kMagic.size() + 4;
  const size_t unpadded = preamble + dictionary.size() + 1;
  dictionary.append((kAlignment - unpadded % kAlignment) % kAlignment, ' ');
  dictionary += '\n';
  std::string bytes(kMagic);
  bytes += {'\x01', '\x00', static_cast<char>(dictionary.size() & 0xff),
            static_cast<char>(dictionary.size() >> 8)};
  bytes += dictionary;
  bytes.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float));
  return bytes;
}

}  // namespace fuseflow
