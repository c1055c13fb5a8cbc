#include "sim/functional/run_length.h"

#include <algorithm>
#include <numeric>

namespace fuseflow::engine {

namespace {

void write(Run run, const uint32_t* memory, uint32_t* words, uint32_t count) {
  if (run.step == 0) {
    std::fill_n(words, count, memory == nullptr ? run.first : memory[run.first]);
  } else if (memory != nullptr) {
    std::copy_n(memory + run.first, count, words);
  } else {
    std::iota(words, words + count, run.first);
  }
}

}  // namespace

Words fiber_words(const Batch& batch, size_t s, uint32_t first, uint32_t last,
                  std::vector<uint32_t>& scratch) {
  if (batch.payload.run_length == nullptr) return {batch.payload.words() + first, 1};
  const Run run = run_of(batch, s, first);
  const uint32_t* memory = batch.payload.run_length->memory;
  if (memory != nullptr) return {memory + run.first, run.step};
  const uint32_t count = run.step == 0 ? 1 : last - first;
  scratch.resize(count);
  write(run, nullptr, scratch.data(), count);
  return {scratch.data(), run.step};
}

void expand_into(const Batch& batch, uint32_t* words) {
  for_fibers(batch, [&](size_t s, uint32_t first, uint32_t last) {
    write(run_of(batch, s, first), batch.payload.run_length->memory, words + first, last - first);
  });
  for (const Stop& stop : batch.stops) words[batch.at(stop)] = 0;
}

Batch expanded(const Batch& batch, std::vector<uint32_t>& scratch) {
  Batch with = batch;
  if (batch.payload.run_length == nullptr) return with;
  scratch.resize(batch.count);
  expand_into(batch, scratch.data());
  with.payload = {nullptr, scratch.data(), nullptr};
  return with;
}

void expand(Segment& segment) {
  const auto words = allocate_payload(segment.count);
  expand_into(all_of(segment), words.get());
  segment.payload = {words, words.get(), nullptr};
}

}  // namespace fuseflow::engine
