// What the writers of levels and values have in common: the batch at hand, a step for each token
// (stops cost no time, unless the machine says so), and the requests of what is written. What is
// stored is in kernels/write.cpp.
#pragma once

#include <array>
#include <cstdint>
#include <utility>
#include <vector>

#include "sim/functional/memory_node.h"

namespace fuseflow::engine {

class WriterSteps : public MemoryNode {
 public:
  WriterSteps(const Context& context, NodeId id);

 protected:
  /// Outputs with a list of steps each: of bursts, or of the rows that are complete.
  void give_lists(size_t count);
  /// Memory takes time: outputs 0 (coordinates or values) and 1 (positions) request bursts.
  void request_writes();

  /// The tokens that are here at all inputs. False: none.
  bool load();
  /// Bytes written in the step of token `at`. A burst is requested when the next one begins, or at
  /// done; in batches as ir-spec/memory.md says.
  void put(size_t output, uint64_t address, uint64_t bytes, uint32_t at);
  /// put() for elements one after the other, written by output 0 in the steps of tokens first ..
  /// last-1.
  void put_row(uint64_t address, uint64_t bytes, uint32_t first, uint32_t last);
  /// Requests what a stop makes complete.
  void put_stop(const Stop& stop, uint32_t at);
  /// Tokens before the next stop are elements.
  void note_elements() { stop_before_ = false; }
  /// The steps of the batch, when all is stored.
  void log_steps();

  const bool level_;
  const size_t main_;   // the input written; those before it are coordinates
  bool timed_ = false;  // memory takes time
  // the batch at hand
  uint32_t n_ = 0;
  Batch batch_;
  std::vector<std::vector<std::pair<uint32_t, uint32_t>>> outer_;  // (inner token, coordinate)
  std::vector<const uint32_t*> words_;

 private:
  /// A token of which several bursts of an output are requested: in a step each.
  struct Split {
    uint32_t token;
    uint32_t bursts;
  };
  /// Addresses of an output that are sent after the step of a token.
  struct SentAddresses {
    uint32_t token;
    uint32_t output;
    uint32_t addresses;
  };

  void make_lanes();
  void find_splits();
  void add_split_steps();
  void outer_tokens_to_steps();
  void split_bursts(Lane& lane) const;
  void collect_write(size_t output, uint64_t address, uint64_t bytes, uint32_t at);
  void send(size_t output, uint32_t at);
  void add_batched_steps();
  void end_burst(size_t output, uint32_t at);

  std::vector<Split> splits_;
  std::vector<uint32_t> step_of_;  // by token, where some take several
  // memory that is asked in batches
  std::array<uint32_t, 2> collected_{};  // by output: addresses not sent yet
  bool stop_before_ = false;             // the last token was one
  std::vector<SentAddresses> sent_;      // in the batch at hand
};

}  // namespace fuseflow::engine
