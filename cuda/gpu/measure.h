// What calls take, in captured graphs.
#pragma once

#include <algorithm>
#include <vector>

#include "run.h"

namespace ff {

class Stream {
 public:
  static constexpr size_t kColdBytes = 320L << 20;  ///< more than the L2 keeps between two uses

  Stream() { FF_CHECK(cudaStreamCreate(&stream_)); }
  operator cudaStream_t() const { return stream_; }
  void wait() const { FF_CHECK(cudaStreamSynchronize(stream_)); }

  /// How many sets of so many bytes are read cold, one after the other.
  static size_t cold_sets(size_t bytes, size_t least, size_t most) {
    return std::clamp<size_t>(kColdBytes / std::max<size_t>(bytes, 1), least, most);
  }

  /// Microseconds of one of `count` calls in a captured graph: the median of several launches of
  /// it.
  template <class Call>
  double time(Call call, size_t count) const {
    cudaGraph_t graph;
    cudaGraphExec_t executable;
    FF_CHECK(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeGlobal));
    for (size_t i = 0; i < count; ++i) call(i);
    FF_CHECK(cudaStreamEndCapture(stream_, &graph));
    FF_CHECK(cudaGraphInstantiate(&executable, graph, 0));
    cudaEvent_t first, last;
    FF_CHECK(cudaEventCreate(&first));
    FF_CHECK(cudaEventCreate(&last));
    std::vector<float> all;
    for (int i = 0; i < kTimes; ++i) {
      FF_CHECK(cudaEventRecord(first, stream_));
      FF_CHECK(cudaGraphLaunch(executable, stream_));
      FF_CHECK(cudaEventRecord(last, stream_));
      FF_CHECK(cudaEventSynchronize(last));
      float milliseconds;
      FF_CHECK(cudaEventElapsedTime(&milliseconds, first, last));
      all.push_back(milliseconds * 1000 / static_cast<float>(count));
    }
    FF_CHECK(cudaEventDestroy(first));
    FF_CHECK(cudaEventDestroy(last));
    FF_CHECK(cudaGraphExecDestroy(executable));
    FF_CHECK(cudaGraphDestroy(graph));
    std::sort(all.begin(), all.end());
    return all[all.size() / 2];
  }

 private:
  static constexpr int kTimes = 12;
  cudaStream_t stream_ = nullptr;
};

}  // namespace ff
