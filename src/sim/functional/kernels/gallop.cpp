// Engine: gallop. Two compressed levels, each searched from where the last search in it ended. What
// is looked at next depends on what was found: where memory takes time, every look waits for it.
#include <algorithm>
#include <array>
#include <optional>

#include "sim/common/level_view.h"
#include "sim/functional/kernels/make_node.h"
#include "sim/functional/memory_node.h"
#include "sim/memory/level_reader.h"
#include "tensor/gallop.h"

namespace fuseflow::engine {
namespace {

struct SearchedLevel {
  SearchedLevel(const Context& context, TensorId tensor, int level)
      : view(context.program, tensor, level, context.storage(tensor)),
        stored(context.storage(tensor)->levels[level]) {
    if (context.addresses != nullptr) reader.emplace(*context.addresses, tensor, level, stored);
  }

  LevelView view;  // refuses a tensor without data: before its storage is asked for
  const Level& stored;
  std::optional<LevelReader> reader;
  uint32_t reference = kAbsent;
  uint32_t last = kAbsent;                 // the reference read before
  uint32_t begin = 0;                      // of the fiber
  std::shared_ptr<uint32_t[]> references;  // given in this chunk
};

class GallopNode final : public MemoryNode {
 public:
  GallopNode(const Context& context, NodeId id)
      : MemoryNode(context, id),
        levels_{SearchedLevel(context, node_.tensor, node_.level),
                SearchedLevel(context, node_.other_tensor, node_.other_level)},
        chunk_(context.chunk) {
    if (!timed_memory()) {
      steps().out.front().always_listed = true;
      return;
    }
    ask_in_own_steps(4);  // whatever the memory: each look waits for what it has asked for
  }

 protected:
  bool compute() override {
    if (ended_) return false;
    start_chunk();
    Cursors in{PortCursor(*ports[0]), PortCursor(*ports[1])};
    while (count_ < chunk_ && looks_ < kLooksOfToken * chunk_ && advance(in)) {
    }
    if (steps().count == 0) return false;
    finish_chunk();
    return true;
  }

 private:
  using Cursors = std::array<PortCursor, 2>;
  static constexpr uint64_t kLooksOfToken = 4;  // that a chunk has room for

  void start_chunk() {
    structure_ = new_structure();
    count_ = 0;
    looks_ = 0;
    if (asking) asking->begin();
    takes_ = &steps().in.front().list();
    gives_ = &steps().out.front().list();
    crd_ = reads_output(0) ? allocate_payload(chunk_) : nullptr;
    for (size_t i = 0; i < 2; ++i) {
      levels_[i].references = reads_output(i + 1) ? allocate_payload(chunk_) : nullptr;
    }
  }

  /// A look at coordinates, or a stop. False: the next input tokens are not here.
  bool advance(Cursors& in) {
    if (!open_) {
      if (!here(in)) return false;
      if (!in[0].is_payload()) {
        pass_stop(in);
        return !ended_;
      }
      return enter(in);
    }
    if (!gallop_.over()) {
      look();
      return true;
    }
    if (!here(in)) return false;
    open_ = false;
    give_stop(in, 0);
    return true;
  }

  /// Both references are taken in the first step of the fiber, which is that of its stop if nothing
  /// is looked at (where memory takes time: in the one that asks for the positions).
  bool enter(Cursors& in) {
    Cursors ahead = in;
    for (PortCursor& cursor : ahead) cursor.advance();
    const bool entered = in[0].word() != kAbsent && in[1].word() != kAbsent;
    open_fiber(in);
    if (gallop_.over() && !here(ahead)) return false;
    in = ahead;
    if (entered) count_positions();
    if (asking) ask_for_positions(entered);
    if (gallop_.over()) {
      give_stop(in, 1);
      return true;
    }
    open_ = true;
    if (!asking) take(1);
    look();
    return true;
  }

  void open_fiber(Cursors& in) {
    gallop_ = Gallop();
    std::array<uint32_t, 2> size{};
    for (size_t i = 0; i < 2; ++i) {
      SearchedLevel& level = levels_[i];
      level.reference = in[i].word();
      if (level.reference == kAbsent) return;
      const auto extent = level.view.extent();
      size[i] = static_cast<uint32_t>(level.view.fiber(level.reference, 0, extent).size());
      level.begin = level.stored.pos[level.reference];
    }
    gallop_ = Gallop(levels_[0].stored.crd.data() + levels_[0].begin, size[0],
                     levels_[1].stored.crd.data() + levels_[1].begin, size[1]);
  }

  void count_positions() {
    for (SearchedLevel& level : levels_) {
      stats_.read_bytes += level.view.position_bytes(level.reference, level.last);
      level.last = level.reference;
    }
  }

  /// A step that takes the references and asks for the positions of both fibers, if they are there.
  void ask_for_positions(bool entered) {
    takes_->take(asking->step(0));
    std::array<uint32_t, 2> asked{};
    for (size_t i = 0; i < 2 && entered; ++i) {
      asked[i] = levels_[i].reader->enter(levels_[i].reference, false,
                                          [&](size_t array, uint64_t address, uint64_t bytes) {
                                            return request(2 * i + array, address, bytes);
                                          });
    }
    asking->ask_together(std::array{std::pair(size_t{0}, asked[0]), std::pair(size_t{2}, asked[1])},
                         0);
  }

  void look() {
    std::array<uint32_t, 2> asked{};
    const bool found = gallop_.step([&](int list, uint32_t position) {
      const auto i = static_cast<size_t>(list);
      stats_.read_bytes += levels_[i].view.element_bytes();
      if (!asking) return;
      asked[i] += levels_[i].reader->element(levels_[i].begin + position,
                                             [&](size_t array, uint64_t address, uint64_t bytes) {
                                               return request(2 * i + array, address, bytes);
                                             });
    });
    ++looks_;
    if (asking) {
      wait_for(asked);
      asking->count_own(1);
    } else {
      add_steps(1);
    }
    if (found) give_found();
  }
  void wait_for(const std::array<uint32_t, 2>& asked) {
    if (asked[0] + asked[1] == 0) {
      asking->step(interval_);
      return;
    }
    asking->ask_together(std::array{std::pair(size_t{1}, asked[0]), std::pair(size_t{3}, asked[1])},
                         interval_);
  }

  void give_found() {
    for (size_t i = 0; i < 2; ++i) {
      const uint32_t position = levels_[i].begin + gallop_.found(static_cast<int>(i));
      if (levels_[i].references) levels_[i].references[count_] = position;
      if (crd_ && i == 0) crd_[count_] = levels_[0].stored.crd[position];
    }
    give_token();
  }
  /// In the last step.
  void give_token() {
    gives_->at.push_back(steps().count - 1);
    ++count_;
  }

  bool here(Cursors& in) const {
    if (!in[0].here() || !in[1].here()) return false;
    if (!in_order(in)) differ();
    return true;
  }
  static bool in_order(const Cursors& in) {
    if (in[0].is_payload() || in[1].is_payload()) return in[0].is_payload() == in[1].is_payload();
    return in[0].stop().level == in[1].stop().level && in[0].stop().bits == in[1].stop().bits;
  }
  [[noreturn]] void differ() const { disagree("two inputs of one space differ in structure"); }

  /// The step at hand takes so many tokens of each input.
  void take(uint32_t tokens) {
    for (uint32_t k = 0; k < tokens; ++k) takes_->take(steps().count);
  }

  /// The stop at the end of a fiber, `references` of which are still to be taken; `in` is past
  /// them. It needs the next token too.
  void give_stop(Cursors& in, uint32_t references) {
    if (!asking) take(references);
    if (in[0].is_payload() || in[0].stop().done()) {
      takes_->needs(steps().count);
      return log_stop(0, 1);
    }
    const Stop stop = in[0].stop();
    for (PortCursor& cursor : in) cursor.advance();
    take(1);
    log_stop(stop.level + 1, (stop.bits << 1) | 1U);
  }
  void pass_stop(Cursors& in) {
    const Stop stop = in[0].stop();
    for (PortCursor& cursor : in) cursor.advance();
    ended_ = stop.done();
    take(1);
    log_stop(stop.done() ? kDoneLevel : stop.level + 1, stop.bits << 1);
  }
  void log_stop(int level, uint32_t bits) {
    asking ? static_cast<void>(asking->step(interval_)) : add_steps(1);
    if (asking) asking->count_own(1);
    structure_->stops.push_back({count_, static_cast<uint16_t>(level), bits});
    if (crd_) crd_[count_] = 0;
    for (SearchedLevel& searched : levels_) {
      if (searched.references) searched.references[count_] = 0;
    }
    give_token();
  }

  void finish_chunk() {
    structure_->count = count_;
    const StructureRef structure = std::move(structure_);
    if (count_ == 0) return;
    give(0, structure, {crd_, crd_.get()});
    for (size_t i = 0; i < 2; ++i) {
      give(i + 1, structure, {levels_[i].references, levels_[i].references.get()});
    }
  }

  std::array<SearchedLevel, 2> levels_;
  const uint32_t chunk_;
  Gallop gallop_;      // of the fibers at hand
  bool open_ = false;  // in a fiber whose references have been taken
  // the chunk at hand
  std::shared_ptr<Structure> structure_;
  uint32_t count_ = 0;
  uint64_t looks_ = 0;
  Lane* takes_ = nullptr;
  Lane* gives_ = nullptr;
  std::shared_ptr<uint32_t[]> crd_;
};

}  // namespace

FUSEFLOW_RUN(gallop, GallopNode)

}  // namespace fuseflow::engine
