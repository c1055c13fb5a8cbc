// What the measurements of a GPU share: checked calls, the clock, medians of timed runs and the
// rows of the table. Every row is CSV: card, group, what, parameter, value, unit. Nothing here
// knows what is measured.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#define CHECK(call)                                                      \
  do {                                                                   \
    const cudaError_t status_ = (call);                                  \
    if (status_ != cudaSuccess) {                                        \
      std::fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #call, \
                   cudaGetErrorString(status_));                         \
      std::exit(1);                                                      \
    }                                                                    \
  } while (0)

inline cudaDeviceProp device() {
  static const cudaDeviceProp kDevice = [] {
    cudaDeviceProp properties{};
    CHECK(cudaGetDeviceProperties(&properties, 0));
    return properties;
  }();
  return kDevice;
}

inline void row(const char* group, const char* what, const std::string& parameter, double value,
                const char* unit) {
  std::printf("%s,%s,%s,%s,%.6g,%s\n", device().name, group, what, parameter.c_str(), value, unit);
  std::fflush(stdout);
}

// The last launch, and whatever it did on the device.
inline void finish() {
  CHECK(cudaGetLastError());
  CHECK(cudaDeviceSynchronize());
}

inline double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

// Median of `repeats` timings of `work`, which is done on `stream`, in seconds, by device events,
// after one that is not counted.
inline double seconds_of(const std::function<void()>& work, int repeats = 7,
                         cudaStream_t stream = nullptr) {
  cudaEvent_t begin{}, end{};
  CHECK(cudaEventCreate(&begin));
  CHECK(cudaEventCreate(&end));
  std::vector<double> times;
  for (int repeat = 0; repeat <= repeats; ++repeat) {
    CHECK(cudaEventRecord(begin, stream));
    work();
    CHECK(cudaEventRecord(end, stream));
    finish();
    float milliseconds = 0;
    CHECK(cudaEventElapsedTime(&milliseconds, begin, end));
    if (repeat > 0) times.push_back(milliseconds * 1e-3);
  }
  CHECK(cudaEventDestroy(begin));
  CHECK(cudaEventDestroy(end));
  return median(times);
}

// Seconds a call of `work(call, stream)`, `calls` of which are captured into one graph, so that the
// host does not bound them; a time holds what lies between two kernels.
inline double seconds_of_graph(int calls, const std::function<void(int, cudaStream_t)>& work) {
  constexpr int kRepeats = 7;
  cudaStream_t stream{};
  CHECK(cudaStreamCreate(&stream));
  cudaGraph_t graph{};
  cudaGraphExec_t executable{};
  CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  for (int call = 0; call < calls; ++call) work(call, stream);
  CHECK(cudaStreamEndCapture(stream, &graph));
  CHECK(cudaGraphInstantiateWithFlags(&executable, graph, 0));
  const double all =
      seconds_of([&] { CHECK(cudaGraphLaunch(executable, stream)); }, kRepeats, stream);
  CHECK(cudaGraphExecDestroy(executable));
  CHECK(cudaGraphDestroy(graph));
  CHECK(cudaStreamDestroy(stream));
  return all / calls;
}

// What one block wrote about its own time: cycles of its multiprocessor.
struct Cycles {
  long long* on_device = nullptr;
  int count;

  explicit Cycles(int number) : count(number) {
    CHECK(cudaMalloc(&on_device, sizeof(long long) * number));
    CHECK(cudaMemset(on_device, 0, sizeof(long long) * number));
  }
  ~Cycles() { cudaFree(on_device); }
  Cycles(const Cycles&) = delete;
  Cycles& operator=(const Cycles&) = delete;

  std::vector<long long> read() const {
    std::vector<long long> values(count);
    CHECK(cudaMemcpy(values.data(), on_device, sizeof(long long) * count, cudaMemcpyDeviceToHost));
    return values;
  }
  double middle() const {
    std::vector<double> values;
    for (const long long value : read()) values.push_back(static_cast<double>(value));
    return median(values);
  }
};

// All scratchpad that a block may have: the next launch of `kernel` may ask for it.
template <typename Kernel>
void allow_scratchpad(Kernel kernel, int bytes) {
  CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
}

// A grid of `blocks` blocks in clusters of `cores`, one block a core, each with `bytes` of
// scratchpad.
struct ClusterLaunch {
  cudaLaunchConfig_t config{};
  cudaLaunchAttribute attribute{};

  template <typename Kernel>
  ClusterLaunch(Kernel kernel, int blocks, int threads, int bytes, int cores) {
    allow_scratchpad(kernel, bytes);
    CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeNonPortableClusterSizeAllowed, 1));
    config.gridDim = dim3(blocks);
    config.blockDim = dim3(threads);
    config.dynamicSmemBytes = bytes;
    attribute.id = cudaLaunchAttributeClusterDimension;
    attribute.val.clusterDim = {static_cast<unsigned>(cores), 1, 1};
    config.attrs = &attribute;
    config.numAttrs = 1;
  }
  ClusterLaunch(const ClusterLaunch&) = delete;
  ClusterLaunch& operator=(const ClusterLaunch&) = delete;
};

template <typename Kernel, typename... Arguments>
void launch(Kernel kernel, int blocks, int threads, int bytes, int cores, Arguments... arguments) {
  const ClusterLaunch grid(kernel, blocks, threads, bytes, cores);
  CHECK(cudaLaunchKernelEx(&grid.config, kernel, arguments...));
}

__device__ inline long long globaltimer() {
  long long nanoseconds = 0;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(nanoseconds));
  return nanoseconds;
}

__device__ inline unsigned shared_address(const void* pointer) {
  return static_cast<unsigned>(__cvta_generic_to_shared(pointer));
}

// Until the phase of a barrier (an mbarrier) in the scratchpad ends.
__device__ inline void wait_for(unsigned barrier, unsigned parity) {
  asm volatile(
      "{\n.reg .pred done;\nAGAIN:\nmbarrier.try_wait.parity.shared::cta.b64 done, [%0], "
      "%1;\n@done bra DONE;\nbra "
      "AGAIN;\nDONE:\n}" ::"r"(barrier),
      "r"(parity)
      : "memory");
}

// For so many cycles; `out`, if there is one: these, and nanoseconds.
static __global__ void spin(long long cycles, long long* out) {
  const long long begin = clock64();
  const long long begin_ns = globaltimer();
  while (clock64() - begin < cycles) {
  }
  if (out != nullptr && threadIdx.x == 0 && blockIdx.x == 0) {
    out[0] = clock64() - begin;
    out[1] = globaltimer() - begin_ns;
  }
}

inline double clock_gigahertz() {
  Cycles out(2);
  spin<<<1, 32>>>(200000000, out.on_device);
  spin<<<1, 32>>>(200000000, out.on_device);
  finish();
  const std::vector<long long> values = out.read();
  return static_cast<double>(values[0]) / static_cast<double>(values[1]);
}
