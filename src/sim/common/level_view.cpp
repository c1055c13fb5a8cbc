#include "sim/common/level_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "sim/common/token.h"
#include "support/defect.h"

namespace fuseflow {

void missing_data(const std::string& tensor) {
  throw Error(ExitCode::rejected,
              fmt::format("tensor %{} has no data: expected a source, or a region that writes it "
                          "before it is read",
                          tensor));
}

LevelView::LevelView(const Program& program, TensorId tensor, int level, const Storage* storage)
    : number_(level) {
  const Tensor& declared = program.tensors[tensor];
  tensor_ = declared.name;
  const auto l = static_cast<size_t>(level);
  kind_ = declared.format.levels[l];
  extent_ = declared.level_extent(l);
  if (kind_ == LevelKind::dense) return;
  if (storage == nullptr) missing_data(tensor_);
  if (storage->levels.size() <= l || storage->levels[l].kind != kind_) {
    throw Defect(fmt::format("%{} is stored in another format than declared", tensor_));
  }
  level_ = &storage->levels[l];
  parents_ = level == 0 ? 1 : storage->positions(level - 1);
  if (kind_ == LevelKind::bitvector) count_bits();
}

LevelView LevelView::counter(int64_t extent) {
  LevelView view;
  view.counter_ = true;
  view.extent_ = extent;
  return view;
}

std::string LevelView::name() const {
  return fmt::format("%{}.{}", tensor_, number_);
}

uint32_t LevelView::fiber_begin(uint32_t reference) const {
  if (static_cast<int64_t>(reference) >= parents_) {
    throw Defect(fmt::format("reference {} is outside of {}", reference, name()));
  }
  return kind_ == LevelKind::singleton ? reference : level_->pos[reference];
}

uint32_t LevelView::fiber_end(uint32_t reference) const {
  return kind_ == LevelKind::singleton ? reference + 1 : level_->pos[reference + 1];
}

void LevelView::count_bits() {
  bits_before_.reserve(level_->words.size());
  uint32_t bits = 0;
  for (const uint64_t word : level_->words) {
    bits_before_.push_back(bits);
    bits += static_cast<uint32_t>(std::popcount(word));
  }
}

int64_t LevelView::coordinate_of_bit(uint32_t reference, int64_t position) const {
  const int64_t words = level_->words_per_fiber();
  const auto first = bits_before_.begin() + reference * words;
  const auto after = std::upper_bound(first, first + words, static_cast<uint32_t>(position));
  const int64_t w = after - first - 1;
  uint64_t word = level_->words[static_cast<size_t>(reference * words + w)];
  for (int64_t before = position - first[w]; before > 0; --before) word &= word - 1;
  return w * kLevelWordBits + std::countr_zero(word);
}

uint32_t LevelView::position_of_bit(uint32_t reference, int64_t coordinate) const {
  const auto w =
      static_cast<size_t>(reference * level_->words_per_fiber() + coordinate / kLevelWordBits);
  const uint64_t bit = uint64_t{1} << coordinate % kLevelWordBits;
  const uint64_t word = level_->words[w];
  if ((word & bit) == 0) return kAbsent;
  return bits_before_[w] + static_cast<uint32_t>(std::popcount(word & (bit - 1)));
}

LevelView::Fiber LevelView::fiber(uint32_t reference, int64_t offset, int64_t loop_extent) const {
  Fiber fiber;
  fiber.parent = reference;
  if (reference == kAbsent) return fiber;
  if (kind_ == LevelKind::dense) {
    fiber.first = std::clamp<int64_t>(-offset, 0, extent_);
    fiber.end = std::clamp<int64_t>(loop_extent - offset, fiber.first, extent_);
    return fiber;
  }
  fiber.end = static_cast<int64_t>(fiber_end(reference)) - fiber_begin(reference);
  while (fiber.first < fiber.end && element(fiber, 0).coordinate + offset < 0) ++fiber.first;
  while (fiber.first < fiber.end &&
         element(fiber, fiber.size() - 1).coordinate + offset >= loop_extent) {
    --fiber.end;
  }
  return fiber;
}

LevelView::Element LevelView::element(const Fiber& fiber, int64_t number) const {
  const int64_t n = fiber.first + number;
  if (counter_) return {n, n};
  if (kind_ == LevelKind::dense) return {n, fiber.parent * extent_ + n};
  const auto reference = static_cast<uint32_t>(fiber.parent);
  const int64_t position = fiber_begin(reference) + n;
  if (kind_ == LevelKind::bitvector) return {coordinate_of_bit(reference, position), position};
  return {level_->crd[position], position};
}

uint32_t LevelView::find(uint32_t reference, int64_t coordinate) const {
  if (reference == kAbsent || !in_range(coordinate)) return kAbsent;
  if (kind_ == LevelKind::dense) {
    const int64_t position = int64_t{reference} * extent_ + coordinate;
    if (position < kMaxStored) return static_cast<uint32_t>(position);
    throw Error(ExitCode::rejected, fmt::format("{} has more than 2^32-2 positions", name()));
  }
  const uint32_t begin = fiber_begin(reference);
  if (kind_ == LevelKind::bitvector) return position_of_bit(reference, coordinate);
  const auto first = level_->crd.begin() + begin;
  const auto last = level_->crd.begin() + fiber_end(reference);
  const auto it = std::lower_bound(first, last, static_cast<uint32_t>(coordinate));
  if (it == last || *it != coordinate) return kAbsent;
  return static_cast<uint32_t>(it - level_->crd.begin());
}

int64_t LevelView::position_bytes(uint32_t reference, uint32_t last) const {
  const bool successor = last != kAbsent && reference == last + 1;
  switch (kind_) {
    case LevelKind::dense:
    case LevelKind::singleton:
      return 0;
    case LevelKind::compressed:
      return successor ? 4 : 8;
    case LevelKind::bitvector:
      return 4;
  }
  return 0;
}

int64_t LevelView::word_bytes() const {
  return kind_ == LevelKind::bitvector ? 8 * level_->words_per_fiber() : 0;
}

int64_t LevelView::element_bytes() const {
  return kind_ == LevelKind::compressed || kind_ == LevelKind::singleton ? 4 : 0;
}

int64_t LevelView::probe_bytes(uint32_t parent) const {
  switch (kind_) {
    case LevelKind::dense:
      return 0;
    case LevelKind::singleton:
      return 4;
    case LevelKind::bitvector:
      return 8;
    case LevelKind::compressed:
      break;
  }
  const uint32_t length = fiber_end(parent) - fiber_begin(parent);
  return length == 0 ? 0 : 4 * std::bit_width(length);
}

int64_t LevelView::look_up_steps(uint32_t reference) const {
  if (kind_ != LevelKind::compressed) return 1;
  const uint32_t length = fiber_end(reference) - fiber_begin(reference);
  return std::max<int64_t>(1, std::bit_width(length));
}

}  // namespace fuseflow
