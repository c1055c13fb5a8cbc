// Requests that wait to be served, by port; handed out in the order of their times. Nothing else.
#pragma once

#include <cstddef>
#include <cstdint>
#include <tuple>
#include <utility>
#include <vector>

namespace fuseflow {

/// One burst. Requests of a port are answered in any order; a node that needs them in order waits.
struct MemoryRequest {
  int64_t time = 0;  ///< cycle in which the port issues it
  uint32_t port = 0;
  int64_t number = 0;    ///< of the port's requests
  uint64_t address = 0;  ///< of the burst, in bytes
  bool write = false;
};

class RequestQueue {
 public:
  /// Those of a port come in the order of their times and numbers.
  void push(const MemoryRequest& request) {
    if (request.port >= ports_.size()) ports_.resize(request.port + 1);
    Port& port = ports_[request.port];
    if (port.next == port.waiting.size()) {
      port.waiting.clear();
      port.next = 0;
      heads_.push_back({request.time, request.port});
      rise(heads_.size() - 1);
    }
    port.waiting.push_back(request);
  }
  /// Whether there is a request before `horizon`: the first of them, by time, port and number.
  bool pop(int64_t horizon, MemoryRequest& request) {
    if (heads_.empty() || heads_.front().time >= horizon) return false;
    Port& port = ports_[heads_.front().port];
    request = port.waiting[port.next++];
    if (port.next < port.waiting.size()) {
      heads_.front().time = port.waiting[port.next].time;
    } else {
      heads_.front() = heads_.back();
      heads_.pop_back();
    }
    sink();
    if (port.next >= kMostGone && 2 * port.next >= port.waiting.size()) drop_gone(port);
    return true;
  }

 private:
  static constexpr size_t kMostGone = 64;
  struct Port {
    std::vector<MemoryRequest> waiting;  // from `next` on
    size_t next = 0;
  };
  struct Head {
    int64_t time = 0;
    uint32_t port = 0;
    bool before(const Head& other) const {
      return std::tie(time, port) < std::tie(other.time, other.port);
    }
  };

  static void drop_gone(Port& port) {
    port.waiting.erase(port.waiting.begin(),
                       port.waiting.begin() + static_cast<std::ptrdiff_t>(port.next));
    port.next = 0;
  }
  void rise(size_t at) {
    for (; at > 0 && heads_[at].before(heads_[(at - 1) / 2]); at = (at - 1) / 2) {
      std::swap(heads_[at], heads_[(at - 1) / 2]);
    }
  }
  void sink() {
    for (size_t at = 0;;) {
      size_t least = at;
      for (size_t child = 2 * at + 1; child < heads_.size() && child <= 2 * at + 2; ++child) {
        if (heads_[child].before(heads_[least])) least = child;
      }
      if (least == at) return;
      std::swap(heads_[at], heads_[least]);
      at = least;
    }
  }

  std::vector<Port> ports_;
  std::vector<Head> heads_;  // a heap of the ports that have requests, the first on top
};

}  // namespace fuseflow
