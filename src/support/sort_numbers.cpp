#include "support/sort_numbers.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>

namespace fuseflow {

namespace {

constexpr size_t kFew = 512;  // are compared
constexpr int kDigitBits = 11;
constexpr size_t kDigits = size_t{1} << kDigitBits;

size_t digit(uint64_t number, int shift) {
  return (number >> shift) & (kDigits - 1);
}

/// Stable: numbers of the same digit stay in order.
void sort_by_digit(const std::vector<uint64_t>& from, std::vector<uint64_t>& to, int shift) {
  std::array<size_t, kDigits> places{};
  for (const uint64_t number : from) ++places[digit(number, shift)];
  size_t next = 0;
  for (size_t& place : places) {
    const size_t count = place;
    place = next;
    next += count;
  }
  for (const uint64_t number : from) to[places[digit(number, shift)]++] = number;
}

}  // namespace

void sort_numbers(std::vector<uint64_t>& numbers) {
  if (numbers.size() < kFew) return std::sort(numbers.begin(), numbers.end());
  const uint64_t largest = *std::max_element(numbers.begin(), numbers.end());
  std::vector<uint64_t> other(numbers.size());
  for (int shift = 0; shift < static_cast<int>(std::bit_width(largest)); shift += kDigitBits) {
    sort_by_digit(numbers, other, shift);
    numbers.swap(other);
  }
}

}  // namespace fuseflow
