#include "sim/engine/fifo.h"

#include <algorithm>

namespace fuseflow::engine {

namespace {
constexpr int64_t kFewGives = 32;  // are judged one by one
constexpr int64_t kMostReserve = 4096;

/// Places for so many times, and for more, so that it is not looked at again soon.
int64_t with_reserve(int64_t count) {
  return count + std::max(count / 4, std::min(count, kMostReserve));
}

}  // namespace

void Gives::make_room(int64_t count) {
  kept_ = given;
  for (Fifo* reader : readers) {
    reader->measure();
    kept_ = std::min(kept_, reader->oldest_give());
  }
  if (memory != nullptr) kept_ = std::min(kept_, known);
  const int64_t needed = with_reserve(given + count - kept_);
  if (needed > times.size()) times.grow(needed, kept_, given);
}

void Gives::request(int64_t time) {
  times[given] = -1;
  memory->memory->submit({time, memory->id, given, memory->addresses.front(), memory->write});
  memory->addresses.pop_front();
  ++given;
}

void Gives::answer(int64_t number, int64_t time) {
  times[number] = time;
  for (; known < given && times[known] >= 0; ++known) {
    // It is there when all before it are.
    times[known] = std::max(times[known], last_answer_);
    last_answer_ = times[known];
    if (memory->write) readers.front()->take(last_answer_);
  }
}

int64_t Fifo::oldest_take() const {
  const int64_t oldest = std::min(taken, released_);
  return depth == 0 ? oldest : std::min(oldest, std::max<int64_t>(0, source->given - depth));
}

void Fifo::make_room(int64_t count) {
  measure();
  if (measured_ == source->given && source->settled != nullptr) {
    released_ = released_at(*source->settled, released_, taken);
  }
  kept_ = oldest_take();
  const int64_t needed = with_reserve(taken + count - kept_);
  if (needed > takes.size()) takes.grow(needed, kept_, taken);
}

/// How many takes, of first .. last-1 at least the former, are before a time.
int64_t Fifo::released_at(int64_t time, int64_t first, int64_t last) const {
  while (first < last) {
    const int64_t middle = first + (last - first) / 2;
    if (takes[middle] < time) {
      first = middle + 1;
    } else {
      last = middle;
    }
  }
  return first;
}

/// The end of the gives whose earlier takes are known: a give up to the last take, and the next
/// give of a consumer that has taken all.
int64_t Fifo::end_of_known() const {
  int64_t first = measured_;
  int64_t last = source->given;
  const int64_t time = taken > 0 ? takes[taken - 1] : -1;
  while (first < last) {
    const int64_t middle = first + (last - first) / 2;
    if (source->times[middle] <= time || middle <= taken) {
      first = middle + 1;
    } else {
      last = middle;
    }
  }
  return first;
}

/// Judges the gives whose earlier takes are known: token k meets those not taken before its time.
void Fifo::measure() {
  // Nobody asks, or it cannot hold more.
  if (source->memory != nullptr || !peak_wanted || (depth > 0 && peak_ == depth)) {
    measured_ = source->given;
    released_ = taken;
    return;
  }
  const int64_t end = end_of_known();
  if (end == measured_) return;
  const int64_t last = released_at(source->times[end - 1], released_, std::min(taken, end - 1));
  if (!within_peak(measured_, end, last)) judge(measured_, end, released_, last);
  measured_ = end;
  released_ = last;
}

/// Whether gives first .. end-1 surely meet no more than the peak: token k does not if token k -
/// peak was taken before it was given. Takes before `last` are known to be before the last of them.
bool Fifo::within_peak(int64_t first, int64_t end, int64_t last) const {
  const int64_t from = std::max(first, peak_);
  return end - peak_ <= last && takes.before(from - peak_, source->times, from, end - from);
}

/// Gives first .. end-1. Takes before `released` are before all of these, those before `last` are
/// before the last of them.
void Fifo::judge(int64_t first, int64_t end, int64_t released, int64_t last) {
  peak_ = std::max(peak_, end - last);
  if (end - released <= peak_) return;  // whatever happens between
  if (end - first > kFewGives) {
    const int64_t middle = first + (end - first) / 2;
    const int64_t at_middle = released_at(source->times[middle - 1], released, last);
    judge(middle, end, at_middle, last);
    judge(first, middle, released, at_middle);
    return;
  }
  if (within_peak(first, end, last)) return;
  for (int64_t k = first; k < end; ++k) {
    while (released < last && takes[released] < source->times[k]) ++released;
    peak_ = std::max(peak_, k - released + 1);
  }
}

}  // namespace fuseflow::engine
