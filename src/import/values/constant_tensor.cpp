// Host tensors: their making, and the only place where their numbers are converted.
#include "import/values/constant_tensor.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "support/defect.h"
#include "support/error.h"
#include "tensor/element_type.h"

namespace fuseflow {

namespace {

[[noreturn]] void wrong(const ConstantTensor& tensor, const char* what) {
  throw Defect(fmt::format("a constant of type {} and shape [{}] {}", element_name(tensor.type),
                           fmt::join(tensor.shape, ","), what));
}

}  // namespace

ConstantTensor::ConstantTensor(ElementType of, std::vector<int64_t> extents, Payload payload)
    : type(of),
      shape(std::move(extents)),
      payload_(std::move(payload)),
      size_(element_count(shape)) {
  if (const auto* entries = std::get_if<ConstantEntries>(&payload_)) {
    if (entries->positions.size() != entries->values.size()) wrong(*this, "lacks entries");
    return;
  }
  const auto* ints = std::get_if<std::vector<int64_t>>(&payload_);
  if ((ints != nullptr) != integral()) wrong(*this, "has values of another kind");
  const size_t held = ints != nullptr ? ints->size() : floats().size();
  if (held != static_cast<size_t>(size_)) wrong(*this, "has values for another shape");
}

float ConstantTensor::as_float(int64_t i) const {
  const auto at = static_cast<size_t>(i);
  if (const auto* floats = std::get_if<Buffer<float>>(&payload_)) return (*floats)[at];
  if (const auto* ints = std::get_if<std::vector<int64_t>>(&payload_))
    return static_cast<float>((*ints)[at]);
  const ConstantEntries& e = entries();
  const auto found = std::lower_bound(e.positions.begin(), e.positions.end(), i);
  if (found == e.positions.end() || *found != i) return 0;
  return e.values[static_cast<size_t>(found - e.positions.begin())];
}

int64_t ConstantTensor::as_int(int64_t i) const {
  if (const auto* ints = std::get_if<std::vector<int64_t>>(&payload_))
    return (*ints)[static_cast<size_t>(i)];
  return integer_of(as_float(i));
}

std::vector<int64_t> ConstantTensor::as_ints() const {
  if (const auto* ints = std::get_if<std::vector<int64_t>>(&payload_)) return *ints;
  std::vector<int64_t> result;
  for (int64_t i = 0; i < size_; ++i) result.push_back(as_int(i));
  return result;
}

const Buffer<float>& ConstantTensor::floats() const {
  const auto* floats = std::get_if<Buffer<float>>(&payload_);
  if (floats == nullptr) wrong(*this, "is read as floats");
  return *floats;
}

const std::vector<int64_t>& ConstantTensor::ints() const {
  const auto* ints = std::get_if<std::vector<int64_t>>(&payload_);
  if (ints == nullptr) wrong(*this, "is read as integers");
  return *ints;
}

const ConstantEntries& ConstantTensor::entries() const {
  const auto* entries = std::get_if<ConstantEntries>(&payload_);
  if (entries == nullptr) wrong(*this, "is read as sparse");
  return *entries;
}

ConstantPtr ConstantTensor::reshaped(std::vector<int64_t> new_shape) const {
  if (element_count(new_shape) != size_) wrong(*this, "has another size than its new shape");
  return std::make_shared<const ConstantTensor>(type, std::move(new_shape), payload_);
}

int64_t integer_of(float value) {
  constexpr float kBeyond = 0x1p63F;  // the least float that i64 cannot hold
  if (value >= kBeyond) return std::numeric_limits<int64_t>::max();
  if (value <= -kBeyond) return std::numeric_limits<int64_t>::min();
  return std::isnan(value) ? 0 : static_cast<int64_t>(value);
}

int64_t narrowed(int64_t value, ElementType type) {
  switch (type) {
    case ElementType::boolean:
      return value != 0 ? 1 : 0;
    case ElementType::u8:
      return static_cast<uint8_t>(value);
    case ElementType::i8:
      return static_cast<int8_t>(value);
    case ElementType::u16:
      return static_cast<uint16_t>(value);
    case ElementType::i16:
      return static_cast<int16_t>(value);
    case ElementType::i32:
      return static_cast<int32_t>(value);
    default:
      return value;
  }
}

ConstantPtr constant_ints(std::vector<int64_t> values, std::vector<int64_t> shape,
                          ElementType type) {
  return std::make_shared<const ConstantTensor>(type, std::move(shape), std::move(values));
}

ConstantPtr constant_floats(Buffer<float> values, std::vector<int64_t> shape, ElementType type) {
  return std::make_shared<const ConstantTensor>(type, std::move(shape), std::move(values));
}

ConstantPtr constant_values(std::vector<float> values, std::vector<int64_t> shape,
                            ElementType type) {
  if (!ConstantTensor::is_integral(type)) {
    round_all(values, type);
    return constant_floats(std::move(values), std::move(shape), type);
  }
  std::vector<int64_t> ints;
  ints.reserve(values.size());
  for (const float v : values) {
    const bool truth = v != 0;
    ints.push_back(type == ElementType::boolean ? truth : narrowed(integer_of(v), type));
  }
  return constant_ints(std::move(ints), std::move(shape), type);
}

ConstantPtr constant_sparse(std::vector<std::pair<int64_t, float>> entries,
                            std::vector<int64_t> shape, ElementType type) {
  std::stable_sort(entries.begin(), entries.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<int64_t> positions;
  std::vector<float> values;
  for (const auto& [position, value] : entries) {
    if (!positions.empty() && positions.back() == position) {
      values.back() += value;
    } else {
      positions.push_back(position);
      values.push_back(value);
    }
  }
  return std::make_shared<const ConstantTensor>(
      type, std::move(shape), ConstantEntries{std::move(positions), std::move(values)});
}

}  // namespace fuseflow
