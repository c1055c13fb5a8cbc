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

// Median of `repeats` timings of `work` in seconds, by device events, after one that is not
// counted.
inline double seconds_of(const std::function<void()>& work, int repeats = 7) {
  cudaEvent_t begin{}, end{};
  CHECK(cudaEventCreate(&begin));
  CHECK(cudaEventCreate(&end));
  std::vector<double> times;
  for (int repeat = 0; repeat <= repeats; ++repeat) {
    CHECK(cudaEventRecord(begin));
    work();
    CHECK(cudaEventRecord(end));
    finish();
    float milliseconds = 0;
    CHECK(cudaEventElapsedTime(&milliseconds, begin, end));
    if (repeat > 0) times.push_back(milliseconds * 1e-3);
  }
  return median(times);
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

__device__ inline long long globaltimer() {
  long long nanoseconds = 0;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(nanoseconds));
  return nanoseconds;
}

__device__ inline unsigned shared_address(const void* pointer) {
  return static_cast<unsigned>(__cvta_generic_to_shared(pointer));
}
