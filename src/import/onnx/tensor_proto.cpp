// Conversion of ONNX tensors: sizes that lie are refused before memory is asked for.
#include "import/onnx/tensor_proto.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <limits>
#include <optional>

#include "import/onnx/onnx.pb.h"
#include "support/ceil_div.h"
#include "support/error.h"
#include "support/io.h"
#include "support/stop.h"
#include "support/text.h"
#include "tensor/limits.h"
#include "tensor/storage.h"

namespace fuseflow {

namespace {

namespace fs = std::filesystem;
using onnx::TensorProto;

[[noreturn]] void reject(const TensorContext& context, const std::string& message) {
  throw Error(ExitCode::rejected, Location{context.model_path}, message);
}

/// Bits of one element as ONNX stores it; 0 for what is not supported.
int64_t stored_bits(int code) {
  switch (code) {
    case TensorProto::UINT2:
    case TensorProto::INT2:
      return 2;
    case TensorProto::UINT4:
    case TensorProto::INT4:
    case TensorProto::FLOAT4E2M1:
      return 4;
    case TensorProto::UINT8:
    case TensorProto::INT8:
    case TensorProto::BOOL:
    case TensorProto::FLOAT8E4M3FN:
    case TensorProto::FLOAT8E4M3FNUZ:
    case TensorProto::FLOAT8E5M2:
    case TensorProto::FLOAT8E5M2FNUZ:
    case TensorProto::FLOAT8E8M0:
      return 8;
    case TensorProto::UINT16:
    case TensorProto::INT16:
    case TensorProto::FLOAT16:
    case TensorProto::BFLOAT16:
      return 16;
    case TensorProto::FLOAT:
    case TensorProto::INT32:
    case TensorProto::UINT32:
      return 32;
    case TensorProto::INT64:
    case TensorProto::UINT64:
    case TensorProto::DOUBLE:
      return 64;
    default:
      return 0;
  }
}

/// A floating-point type of up to 8 bits.
struct SmallFloat {
  int mantissa_bits = 0;
  int bias = 0;
  /// What the largest codes are: numbers, infinity and NaN, NaN only the very largest, or NaN only
  /// the code of -0.
  enum class Special { none, infinities, last, negative_zero } special = Special::none;
};

std::optional<SmallFloat> small_float(int code) {
  using S = SmallFloat::Special;
  switch (code) {
    case TensorProto::FLOAT8E4M3FN:
      return SmallFloat{3, 7, S::last};
    case TensorProto::FLOAT8E4M3FNUZ:
      return SmallFloat{3, 8, S::negative_zero};
    case TensorProto::FLOAT8E5M2:
      return SmallFloat{2, 15, S::infinities};
    case TensorProto::FLOAT8E5M2FNUZ:
      return SmallFloat{2, 16, S::negative_zero};
    case TensorProto::FLOAT4E2M1:
      return SmallFloat{1, 1, S::none};
    default:
      return std::nullopt;
  }
}

float small_to_float(uint32_t element, int bits, const SmallFloat& type) {
  using S = SmallFloat::Special;
  const uint32_t sign = 1U << (bits - 1);
  const uint32_t size = element & (sign - 1);
  const uint32_t mantissa = size & ((1U << type.mantissa_bits) - 1);
  const auto exponent = static_cast<int>(size >> type.mantissa_bits);
  const bool all_ones = exponent == (1 << (bits - 1 - type.mantissa_bits)) - 1;
  if (type.special == S::negative_zero && element == sign) return NAN;
  if (type.special == S::last && size == sign - 1) return NAN;
  float value = 0;
  if (type.special == S::infinities && all_ones)
    value = mantissa == 0 ? INFINITY : NAN;
  else if (exponent == 0)
    value = std::ldexp(static_cast<float>(mantissa), 1 - type.bias - type.mantissa_bits);
  else
    value = std::ldexp(static_cast<float>(mantissa + (1U << type.mantissa_bits)),
                       exponent - type.bias - type.mantissa_bits);
  return (element & sign) != 0 ? -value : value;
}

/// Element i of those that share bytes; `byte_at` gives byte number n.
template <typename ByteAt>
uint32_t packed_element(const ByteAt& byte_at, int64_t i, int64_t bits) {
  const auto byte = static_cast<uint32_t>(byte_at(i * bits / 8)) & 255U;
  return byte >> (i * bits % 8) & ((1U << bits) - 1);
}

/// An element of 8 bits or less as an integer.
int64_t small_integer(uint32_t element, int code, int64_t bits) {
  const bool is_signed = code == TensorProto::INT4 || code == TensorProto::INT2;
  const auto value = static_cast<int64_t>(element);
  return is_signed && value >> (bits - 1) != 0 ? value - (int64_t{1} << bits) : value;
}

/// An element of 8 bits or less as a number.
float small_number(uint32_t element, int code, int64_t bits) {
  if (code == TensorProto::FLOAT8E8M0)
    return element == 255 ? NAN : std::ldexp(1.0F, static_cast<int>(element) - 127);
  return small_to_float(element, static_cast<int>(bits), *small_float(code));
}

bool is_small(int code) {
  return stored_bits(code) < 8 || small_float(code) || code == TensorProto::FLOAT8E8M0;
}

float half_to_float(uint16_t h) {
  const int exponent = (h >> 10) & 31;
  const int mantissa = h & 1023;
  float value = 0;
  if (exponent == 31)
    value = mantissa ? NAN : INFINITY;
  else if (exponent == 0)
    value = std::ldexp(static_cast<float>(mantissa), -24);
  else
    value = std::ldexp(static_cast<float>(mantissa + 1024), exponent - 25);
  return h & 0x8000 ? -value : value;
}

float bf16_to_float(uint16_t b) {
  return std::bit_cast<float>(static_cast<uint32_t>(b) << 16);
}

/// The bytes of a tensor and what keeps them alive.
struct Bytes {
  std::string_view view;
  std::shared_ptr<const void> owner;
};

int64_t decimal(const std::string& text, const TensorContext& context) {
  int64_t value = 0;
  for (const char c : text) {
    if (c < '0' || c > '9' || value > (int64_t{1} << 58)) {
      reject(context, fmt::format("external data: '{}' is not a byte count", shown(text)));
    }
    value = value * 10 + (c - '0');
  }
  return value;
}

bool is_below(const fs::path& file, const fs::path& folder) {
  const fs::path relative = file.lexically_relative(folder);
  return !relative.empty() && *relative.begin() != "..";
}

/// Where external data is: a file below the model's folder. A link may lead from there to where a
/// link of the model's own leads (a cache that keeps all files in one folder), or anywhere if the
/// user said so.
fs::path external_file(const std::string& location, const std::string& tensor,
                       const TensorContext& context) {
  fs::path folder = fs::path(context.model_path).parent_path();
  if (folder.empty()) folder = ".";
  const fs::path named = fs::path(location).lexically_normal();
  const bool escapes = location.empty() || location.find('\0') != std::string::npos ||
                       named.is_absolute() || *named.begin() == "..";
  std::error_code failure;
  const fs::path base = fs::weakly_canonical(folder, failure);
  const fs::path target = escapes ? fs::path() : fs::weakly_canonical(folder / named, failure);
  if (escapes || failure) {
    reject(context,
           fmt::format("tensor '{}' has external data at '{}', which is not a file below the "
                       "model's folder; such paths are refused",
                       shown(tensor), shown(location)));
  }
  if (context.follow_links || is_below(target, base)) return target;
  const fs::path home = fs::weakly_canonical(context.model_path, failure).parent_path();
  if (!failure && is_below(target, home)) return target;
  reject(context, fmt::format("tensor '{}' has external data at '{}', a link that leads out of the "
                              "model's folder, to '{}'; links are followed to where a link of the "
                              "model itself leads, and anywhere with --follow-links",
                              shown(tensor), shown(location), shown(target.string())));
}

/// `wanted`: how many bytes the tensor has, for data whose length is not given.
Bytes external_bytes(const TensorProto& proto, const TensorContext& context, int64_t wanted) {
  std::string location;
  int64_t offset = 0;
  int64_t length = -1;
  for (const auto& entry : proto.external_data()) {
    if (entry.key() == "location") location = entry.value();
    if (entry.key() == "offset") offset = decimal(entry.value(), context);
    if (entry.key() == "length") length = decimal(entry.value(), context);
  }
  const fs::path target = external_file(location, proto.name(), context);
  auto file = std::make_shared<MappedFile>(target.string());
  const auto size = static_cast<int64_t>(file->bytes().size());
  if (offset > size || (length >= 0 && length > size - offset)) {
    reject(context,
           fmt::format("tensor '{}': external data of {} bytes at {} exceeds {} ({} bytes)",
                       shown(proto.name()), length, offset, target.string(), size));
  }
  const auto begin = static_cast<size_t>(offset);
  const auto count = static_cast<size_t>(length < 0 ? wanted : length);
  return {file->bytes().substr(begin, count), file};
}

template <typename T>
T element_at(std::string_view bytes, int64_t i) {
  T value;
  std::memcpy(&value, bytes.data() + static_cast<size_t>(i) * sizeof(T), sizeof(T));
  return value;
}

/// Element i as stored in raw bytes, as an integer.
int64_t raw_integer(int code, std::string_view bytes, int64_t i) {
  if (is_small(code)) {
    const int64_t bits = stored_bits(code);
    const auto byte_at = [&](int64_t n) { return element_at<uint8_t>(bytes, n); };
    return small_integer(packed_element(byte_at, i, bits), code, bits);
  }
  switch (code) {
    case TensorProto::INT64:
      return element_at<int64_t>(bytes, i);
    case TensorProto::UINT64:
      return static_cast<int64_t>(element_at<uint64_t>(bytes, i));
    case TensorProto::INT32:
      return element_at<int32_t>(bytes, i);
    case TensorProto::UINT32:
      return element_at<uint32_t>(bytes, i);
    case TensorProto::INT16:
      return element_at<int16_t>(bytes, i);
    case TensorProto::UINT16:
      return element_at<uint16_t>(bytes, i);
    case TensorProto::INT8:
      return element_at<int8_t>(bytes, i);
    case TensorProto::BOOL:
      return element_at<uint8_t>(bytes, i) != 0;
    default:
      return element_at<uint8_t>(bytes, i);
  }
}

float raw_float(int code, std::string_view bytes, int64_t i) {
  if (is_small(code)) {
    const int64_t bits = stored_bits(code);
    const auto byte_at = [&](int64_t n) { return element_at<uint8_t>(bytes, n); };
    return small_number(packed_element(byte_at, i, bits), code, bits);
  }
  switch (code) {
    case TensorProto::DOUBLE:
      return static_cast<float>(element_at<double>(bytes, i));
    case TensorProto::FLOAT16:
      return half_to_float(element_at<uint16_t>(bytes, i));
    case TensorProto::BFLOAT16:
      return bf16_to_float(element_at<uint16_t>(bytes, i));
    default:
      return element_at<float>(bytes, i);
  }
}

// The type says which field holds the elements (typed_count() of them); others may be there, too.

int64_t typed_integer(const TensorProto& proto, int i) {
  if (is_small(proto.data_type())) {
    const int64_t bits = stored_bits(proto.data_type());
    const auto byte_at = [&](int64_t n) { return proto.int32_data(static_cast<int>(n)); };
    return small_integer(packed_element(byte_at, i, bits), proto.data_type(), bits);
  }
  switch (proto.data_type()) {
    case TensorProto::INT64:
      return proto.int64_data(i);
    case TensorProto::UINT32:
    case TensorProto::UINT64:
      return static_cast<int64_t>(proto.uint64_data(i));
    case TensorProto::BOOL:
      return proto.int32_data(i) != 0 ? 1 : 0;
    default:
      return proto.int32_data(i);
  }
}

float typed_float(const TensorProto& proto, int i) {
  if (is_small(proto.data_type())) {
    const int64_t bits = stored_bits(proto.data_type());
    const auto byte_at = [&](int64_t n) { return proto.int32_data(static_cast<int>(n)); };
    return small_number(packed_element(byte_at, i, bits), proto.data_type(), bits);
  }
  switch (proto.data_type()) {
    case TensorProto::DOUBLE:
      return static_cast<float>(proto.double_data(i));
    case TensorProto::FLOAT16:
      return half_to_float(static_cast<uint16_t>(proto.int32_data(i)));
    case TensorProto::BFLOAT16:
      return bf16_to_float(static_cast<uint16_t>(proto.int32_data(i)));
    default:
      return proto.float_data(i);
  }
}

int64_t typed_count(const TensorProto& proto) {
  switch (proto.data_type()) {
    case TensorProto::FLOAT:
      return proto.float_data_size();
    case TensorProto::DOUBLE:
      return proto.double_data_size();
    case TensorProto::INT64:
      return proto.int64_data_size();
    case TensorProto::UINT32:
    case TensorProto::UINT64:
      return proto.uint64_data_size();
    default:
      return proto.int32_data_size();
  }
}

/// What one number of int32_data or uint64_data may be where it holds less than the field has bits.
struct FieldRange {
  int64_t least = 0, largest = 0;
};

std::optional<FieldRange> field_range(int code) {
  if (stored_bits(code) < 8) return FieldRange{-128, 255};  // a byte, signed or not
  switch (code) {
    case TensorProto::BOOL:
      return FieldRange{0, 1};
    case TensorProto::INT8:
      return FieldRange{-128, 127};
    case TensorProto::INT16:
      return FieldRange{-32768, 32767};
    case TensorProto::UINT16:
    case TensorProto::FLOAT16:
    case TensorProto::BFLOAT16:
      return FieldRange{0, 65535};
    case TensorProto::UINT32:
      return FieldRange{0, int64_t{std::numeric_limits<uint32_t>::max()}};
    default:
      break;
  }
  return stored_bits(code) == 8 ? std::optional<FieldRange>({0, 255}) : std::nullopt;
}

/// Refuses typed numbers that the tensor's type does not have: which bits count is not said.
void check_fields(const TensorProto& proto, const TensorContext& context) {
  const auto range = field_range(proto.data_type());
  if (!range) return;
  const auto check = [&](const auto& fields, const char* name) {
    for (int i = 0; i < fields.size(); ++i) {
      const auto value = static_cast<int64_t>(fields[i]);
      if (value >= range->least && value <= range->largest) continue;
      reject(context, fmt::format("tensor '{}' is of type {}, but element {} of its {} is {}, "
                                  "expected {} to {}",
                                  shown(proto.name()),
                                  TensorProto::DataType_Name(
                                      static_cast<TensorProto::DataType>(proto.data_type())),
                                  i, name, value, range->least, range->largest));
    }
  };
  if (proto.data_type() == TensorProto::UINT32)
    check(proto.uint64_data(), "uint64_data");
  else
    check(proto.int32_data(), "int32_data");
}

bool has_typed_data(const TensorProto& proto) {
  return proto.float_data_size() > 0 || proto.double_data_size() > 0 ||
         proto.int32_data_size() > 0 || proto.int64_data_size() > 0 || proto.uint64_data_size() > 0;
}

int64_t checked_count(const TensorProto& proto, const TensorContext& context) {
  uint64_t count = 1;
  for (const int64_t d : proto.dims()) {
    if (d < 0)
      reject(context, fmt::format("tensor '{}' has a negative extent", shown(proto.name())));
    count = saturating_product(count, static_cast<uint64_t>(d));
  }
  for (const int64_t d : proto.dims()) {
    if (d == 0) return 0;
  }
  if (count > static_cast<uint64_t>(kMaxStored)) {
    reject(context,
           fmt::format("tensor '{}' claims {} elements, more than the {} that can be stored",
                       shown(proto.name()), count, kMaxStored));
  }
  stop_if_larger(saturating_product(count, sizeof(float)));
  return static_cast<int64_t>(count);
}

void note_rounding(const TensorProto& proto, const Buffer<float>& values, const Bytes& bytes) {
  if (proto.data_type() != TensorProto::DOUBLE) return;
  const bool raw = !bytes.view.empty();
  for (size_t i = 0; i < values.size(); ++i) {
    const double exact = raw ? element_at<double>(bytes.view, static_cast<int64_t>(i))
                             : proto.double_data(static_cast<int>(i));
    if (exact == exact && static_cast<double>(values[i]) != exact) {
      report(Severity::note,
             fmt::format("tensor '{}' is f64 and loses precision in the compute type f32",
                         shown(proto.name())));
      return;
    }
  }
}

Buffer<float> convert_floats(const TensorProto& proto, const Bytes& bytes, bool raw,
                             int64_t count) {
  const bool aligned = reinterpret_cast<uintptr_t>(bytes.view.data()) % alignof(float) == 0;
  if (raw && proto.data_type() == TensorProto::FLOAT && aligned && bytes.owner) {
    const auto* data = reinterpret_cast<const float*>(bytes.view.data());
    return {std::span<const float>(data, static_cast<size_t>(count)), bytes.owner};
  }
  std::vector<float> values(static_cast<size_t>(count));
  for (int64_t i = 0; i < count; ++i) {
    values[static_cast<size_t>(i)] =
        raw ? raw_float(proto.data_type(), bytes.view, i) : typed_float(proto, static_cast<int>(i));
  }
  return values;
}

}  // namespace

ElementType element_type_of(int code, const std::string& what) {
  switch (code) {
    case TensorProto::FLOAT:
      return ElementType::f32;
    case TensorProto::DOUBLE:
      return ElementType::f64;
    case TensorProto::FLOAT16:
      return ElementType::f16;
    case TensorProto::BFLOAT16:
      return ElementType::bf16;
    case TensorProto::BOOL:
      return ElementType::boolean;
    case TensorProto::UINT8:
    case TensorProto::UINT4:
    case TensorProto::UINT2:
      return ElementType::u8;
    case TensorProto::INT8:
    case TensorProto::INT4:
    case TensorProto::INT2:
      return ElementType::i8;
    case TensorProto::FLOAT8E4M3FN:
    case TensorProto::FLOAT4E2M1:
      return ElementType::f8e4m3;
    case TensorProto::FLOAT8E5M2:
      return ElementType::f8e5m2;
    case TensorProto::FLOAT8E4M3FNUZ:
    case TensorProto::FLOAT8E5M2FNUZ:
      return ElementType::f16;
    case TensorProto::FLOAT8E8M0:
      return ElementType::bf16;
    case TensorProto::INT16:
      return ElementType::i16;
    case TensorProto::UINT16:
      return ElementType::u16;
    case TensorProto::INT32:
      return ElementType::i32;
    case TensorProto::UINT32:
    case TensorProto::UINT64:
    case TensorProto::INT64:
      return ElementType::i64;
    default:
      break;
  }
  const bool named = TensorProto::DataType_IsValid(code);
  throw Error(
      ExitCode::rejected,
      fmt::format("{} has element type {}, expected a float, an integer or bool", what,
                  named ? TensorProto::DataType_Name(static_cast<TensorProto::DataType>(code))
                        : std::to_string(code)));
}

bool is_stored_wider(int code) {
  switch (code) {
    case TensorProto::UINT2:
    case TensorProto::INT2:
    case TensorProto::UINT4:
    case TensorProto::INT4:
    case TensorProto::UINT32:
    case TensorProto::UINT64:
    case TensorProto::FLOAT4E2M1:
    case TensorProto::FLOAT8E4M3FNUZ:
    case TensorProto::FLOAT8E5M2FNUZ:
    case TensorProto::FLOAT8E8M0:
      return true;
    default:
      return false;
  }
}

namespace {

ConstantPtr with_code(ConstantTensor tensor, int code) {
  tensor.code = is_stored_wider(code) ? code : 0;
  return std::make_shared<const ConstantTensor>(std::move(tensor));
}

}  // namespace

ConstantPtr convert_tensor(const TensorProto& proto, const TensorContext& context) {
  const ElementType type =
      element_type_of(proto.data_type(), "tensor '" + shown(proto.name()) + "'");
  if (proto.has_segment())
    reject(context, fmt::format("tensor '{}' is a part of a tensor, which is not supported",
                                shown(proto.name())));
  std::vector<int64_t> shape(proto.dims().begin(), proto.dims().end());
  const int64_t count = checked_count(proto, context);
  const bool external = proto.data_location() == TensorProto::EXTERNAL;
  const int64_t bits = stored_bits(proto.data_type());
  Bytes bytes;
  if (external)
    bytes = external_bytes(proto, context, ceil_div(count * bits, int64_t{8}));
  else if (proto.has_raw_data())
    bytes = {proto.raw_data(), context.keep_alive};
  const bool raw = external || proto.has_raw_data();
  if (raw && has_typed_data(proto)) {
    reject(context, fmt::format("tensor '{}' has its elements twice: as {} and as typed numbers, "
                                "expected one of them",
                                shown(proto.name()), external ? "external data" : "raw_data"));
  }
  if (!raw) check_fields(proto, context);
  // Elements of less than a byte share bytes, of which the last one may be part empty; each typed
  // number is such a byte.
  const int64_t unit = raw ? 8 : std::max<int64_t>(bits, 8);
  const int64_t wanted = ceil_div(count * bits, raw || bits < 8 ? 8 : bits);
  const int64_t units = raw ? static_cast<int64_t>(bytes.view.size()) : typed_count(proto);
  if (units != wanted) {
    reject(context, fmt::format("tensor '{}' claims {} elements, but holds {}", shown(proto.name()),
                                count, units * unit / bits));
  }
  if (!ConstantTensor::is_integral(type)) {
    Buffer<float> values = convert_floats(proto, bytes, raw, count);
    note_rounding(proto, values, bytes);
    return with_code({type, std::move(shape), std::move(values)}, proto.data_type());
  }
  std::vector<int64_t> values(static_cast<size_t>(count));
  for (int64_t i = 0; i < count; ++i) {
    values[static_cast<size_t>(i)] = raw ? raw_integer(proto.data_type(), bytes.view, i)
                                         : typed_integer(proto, static_cast<int>(i));
  }
  const bool wrapped = std::any_of(values.begin(), values.end(), [](int64_t v) { return v < 0; });
  if (proto.data_type() == TensorProto::UINT64 && wrapped) {
    reject(context, fmt::format("tensor '{}' has values of UINT64 from 2^63 on, expected less",
                                shown(proto.name())));
  }
  return with_code({type, std::move(shape), std::move(values)}, proto.data_type());
}

/// Sparse constants of up to this size are as good dense: folding is faster, and the threshold of
/// density decides how they are stored. Larger ones stay sparse.
constexpr int64_t kMaxDensified = int64_t{1} << 22;

namespace {

/// Coordinates have 32 bits.
bool too_large(int64_t extent) {
  return extent > int64_t{std::numeric_limits<uint32_t>::max()};
}

}  // namespace

ConstantPtr convert_sparse(const onnx::SparseTensorProto& proto, const TensorContext& context) {
  const ConstantPtr values = convert_tensor(proto.values(), context);
  const ConstantPtr indices = convert_tensor(proto.indices(), context);
  const std::string name = shown(proto.values().name());
  const std::vector<int64_t> shape(proto.dims().begin(), proto.dims().end());
  const int64_t size = element_count(shape);
  const int64_t entries = values->size();
  const auto rank = static_cast<int64_t>(shape.size());
  if (size == kManyElements || std::any_of(shape.begin(), shape.end(), too_large)) {
    reject(context, fmt::format("sparse tensor '{}' of shape [{}] has too many elements to count",
                                name, fmt::join(shape, ",")));
  }
  const bool linear = indices->shape.size() == 1;
  if (!indices->integral() || indices->size() != (linear ? entries : entries * rank)) {
    reject(context, fmt::format("sparse tensor '{}' has {} values but {} indices", name, entries,
                                indices->size()));
  }
  const bool keep = !values->integral() && size > kMaxDensified;
  if (!keep && size > kMaxFoldedElements) {
    reject(context,
           fmt::format("sparse tensor '{}' has {} elements, more than {}; bind it from a file "
                       "as an input instead",
                       name, size, kMaxFoldedElements));
  }
  std::vector<std::pair<int64_t, float>> kept;
  std::vector<int64_t> places;
  std::vector<float> floats(values->integral() || keep ? 0 : static_cast<size_t>(size));
  std::vector<int64_t> ints(values->integral() ? static_cast<size_t>(size) : 0);
  for (int64_t e = 0; e < entries; ++e) {
    int64_t at = linear ? indices->as_int(e) : 0;
    for (int64_t d = 0; !linear && d < rank; ++d) {
      const int64_t c = indices->as_int(e * rank + d);
      const int64_t extent = shape[static_cast<size_t>(d)];
      at = c < 0 || c >= extent || at < 0 ? -1 : at * extent + c;
    }
    if (at < 0 || at >= size) {
      reject(context, fmt::format("sparse tensor '{}': the index of entry {} is outside its shape",
                                  name, e));
    }
    places.push_back(at);
    if (values->integral())
      ints[static_cast<size_t>(at)] = values->as_int(e);
    else if (keep)
      kept.emplace_back(at, values->as_float(e));
    else
      floats[static_cast<size_t>(at)] = values->as_float(e);
  }
  std::sort(places.begin(), places.end());
  if (std::adjacent_find(places.begin(), places.end()) != places.end())
    reject(context, fmt::format("sparse tensor '{}' has several values for one entry", name));
  if (values->integral()) return constant_ints(std::move(ints), shape, values->type);
  if (!keep) return constant_floats(std::move(floats), shape, values->type);
  return constant_sparse(std::move(kept), shape, values->type);
}

}  // namespace fuseflow
