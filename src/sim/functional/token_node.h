// Engine: what nodes share that do one step a token and keep the structure, all of whose inputs are
// of one space. The kinds are in kernels/token.cpp and, over blocks, in kernels/block.cpp.
#pragma once

#include <algorithm>
#include <vector>

#include "sim/functional/memory_node.h"

namespace fuseflow::engine {

/// All inputs and the output are of one space.
class TokenNode : public MemoryNode {
 public:
  using MemoryNode::MemoryNode;

 protected:
  bool compute() final {
    const uint32_t n = std::min(ready(0, ports.size()), most_);
    if (n == 0 || ended_) return false;
    read_batches(0, ports.size(), n, batches_);
    const Batch& like = batches_.front();
    const auto elements = static_cast<int64_t>(n - like.stops.size());
    const Payload payload = reads_output(0) ? make_payload(batches_, n) : Payload{};
    account(batches_, elements);
    if (sides.size() > 1 || asking) {
      log_bursts(batches_, n);
    } else {
      log_steps(batches_, n);
    }
    if (asking) asking->count_own(n);
    if (row_gates.any()) wait_for_rows(n);
    give_like(0, like, n, payload);
    ended_ = !like.stops.empty() && like.stops.back().done();
    return true;
  }

  /// Payloads of n tokens, 0 at stops. Here and below `inputs` are batches by input that is no
  /// immediate; to fill() they are given with words in place of run lengths, where make_payload()
  /// does so.
  virtual Payload make_payload(const std::vector<Batch>& inputs, uint32_t n) {
    auto words = allocate_payload(n);
    fill(inputs, words.get(), n);
    for (const Stop& stop : inputs.front().stops) words[inputs.front().at(stop)] = 0;
    return {words, words.get()};
  }
  /// Fills in the payloads of n tokens; those at stops may be anything.
  virtual void fill(const std::vector<Batch>&, uint32_t*, uint32_t) {}
  /// Flops and bytes of a batch with `elements` payloads; may refuse the data. Called after
  /// make_payload(), which is left out where nobody reads the output: then what is needed of it is
  /// found here.
  virtual void account(const std::vector<Batch>& inputs, int64_t elements) = 0;

  /// The steps of n tokens.
  virtual void log_steps(const std::vector<Batch>&, uint32_t n) { add_steps(n); }
  /// The step of a token, in which a load waits for its row.
  virtual uint32_t step_of(uint32_t token) const { return token; }
  /// The steps of all sides, where memory takes time.
  virtual void log_bursts(const std::vector<Batch>&, uint32_t) {}
  /// Whether payload k of a load's references (input 0) is looked up: then it waits for its row.
  virtual bool looks_up(const std::vector<Batch>&, uint32_t) { return true; }

  uint32_t most_ = UINT32_MAX;  ///< tokens of a batch

 private:
  void wait_for_rows(uint32_t n) {
    const Batch& references = batches_.front();
    const uint32_t* refs = references.payload.words();
    for_each_token(
        references, n,
        [&](uint32_t k) {
          if (refs[k] != kAbsent && looks_up(batches_, k)) wait_for_row(step_of(k), refs[k]);
        },
        [](uint32_t, const Stop&) {});
  }

  std::vector<Batch> batches_;
};

}  // namespace fuseflow::engine
