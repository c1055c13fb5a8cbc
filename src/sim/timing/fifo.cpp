#include "sim/timing/fifo.h"

#include <algorithm>

namespace fuseflow::engine {

namespace {
constexpr int64_t kFewGives = 32;  // are judged one by one
}  // namespace

void OutputTimes::make_room(int64_t count) {
  int64_t oldest = std::min(times.end(), std::max<int64_t>(0, kept_from));
  for (Fifo* reader : readers) {
    reader->measure();
    oldest = std::min(oldest, reader->oldest_give());
  }
  times.make_room(count, oldest);
}

void OutputTimes::request(int64_t time) {
  memory->memory->submit({time, memory->id, given, memory->addresses.front(), memory->write});
  memory->addresses.pop_front();
  pending_.push_back({time});
  ++given;
}

void OutputTimes::answer(int64_t number, int64_t time) {
  pending_[number - known()].answered = time;
  while (!pending_.empty() && pending_.front().answered >= 0) {
    // An answer is there when all before it are.
    last_answer_ = std::max(pending_.front().answered, last_answer_);
    pending_.pop_front();
    reserve(1);
    times.append(last_answer_);
    if (memory->write && !memory->in_batches) readers.front()->take(last_answer_);
  }
}

int64_t Fifo::oldest_take() const {
  const int64_t oldest = std::min(taken(), released_);
  return depth == 0 ? oldest : std::min(oldest, std::max<int64_t>(0, source->given - depth));
}

void Fifo::make_room(int64_t count) {
  measure();
  if (measured_ == source->given && source->settled != nullptr) {
    released_ = released_at(*source->settled, released_, taken());
  }
  takes.make_room(count, oldest_take());
}

/// The end of the gives whose earlier takes are known: a give up to the last take, and the next
/// give of a consumer that has taken all.
int64_t Fifo::end_of_known() const {
  const int64_t time = taken() > 0 ? takes.at(taken() - 1, released_at_) : -1;
  const int64_t given_until =
      source->times.first_from(time + 1, measured_, source->given, measured_at_);
  return std::max(given_until, std::min(taken() + 1, source->given));
}

void Fifo::measured_up_to(int64_t end, int64_t released) {
  measured_ = end;
  released_ = released;
  if (end > 0 && source->memory == nullptr) source->times.find(end - 1, measured_at_);
  if (released > 0) takes.find(released - 1, released_at_);
}

/// Judges the gives whose earlier takes are known: token k meets those not taken before its time.
void Fifo::measure() {
  if (fed) fed->take(takes);
  // The peak is not asked for, or cannot get larger.
  if (fed || source->memory != nullptr || !peak_wanted || (depth > 0 && peak_ == depth)) {
    measured_ = source->given;
    released_ = taken();
    return;
  }
  const int64_t end = end_of_known();
  if (end == measured_) return;
  const int64_t last = released_at(give_time(end - 1), released_, std::min(taken(), end - 1));
  judge(measured_, end, released_, last);
  measured_up_to(end, last);
}

/// Whether gives first .. end-1 surely meet no more than the peak: token k does not if token k -
/// peak was taken before it was given. Takes before `released` are known to be before all of them
/// (and may be forgotten), those before `last` to be before the last of them.
bool Fifo::within_peak(int64_t first, int64_t end, int64_t released, int64_t last) const {
  const int64_t from = std::max(first, released + peak_);
  return end - peak_ <= last &&
         takes.before(from - peak_, released_at_, source->times, from, measured_at_, end - from);
}

/// Gives first .. end-1. Takes before `released` are before all of these, those before `last` are
/// before the last of them.
void Fifo::judge(int64_t first, int64_t end, int64_t released, int64_t last) {
  peak_ = std::max(peak_, end - last);
  if (end - released <= peak_ || within_peak(first, end, released, last)) return;
  if (end - first > kFewGives) {
    const int64_t middle = first + (end - first) / 2;
    const int64_t at_middle = released_at(give_time(middle - 1), released, last);
    judge(middle, end, at_middle, last);
    judge(first, middle, released, at_middle);
    return;
  }
  for (int64_t k = first; k < end; ++k) {
    const int64_t time = give_time(k);
    while (released < last && takes.at(released, released_at_) < time) ++released;
    peak_ = std::max(peak_, k - released + 1);
  }
}

}  // namespace fuseflow::engine
