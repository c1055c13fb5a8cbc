#include "support/stack.h"

#include <sys/mman.h>
#include <sys/resource.h>
#include <ucontext.h>
#include <unistd.h>

#include <cstddef>

namespace fuseflow {
namespace {

constexpr size_t kEnough = size_t{8} << 20;

/// Whether the main thread's own stack may grow as far: a limit counts when it grows, not before.
bool own_stack_is_enough() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_STACK, &limit) != 0 || limit.rlim_cur >= kEnough) return true;
  limit.rlim_cur = kEnough;
  return limit.rlim_max >= kEnough && ::setrlimit(RLIMIT_STACK, &limit) == 0;
}

// makecontext() passes on numbers only.
struct Call {
  int argc;
  char** argv;
  int (*body)(int, char**);
  int status;
  ucontext_t back;
  ucontext_t there;
};
Call call;

void run_call() {
  call.status = call.body(call.argc, call.argv);
}

}  // namespace

int on_enough_stack(int argc, char** argv, int (*body)(int, char**)) {
  if (own_stack_is_enough()) return body(argc, argv);
  void* memory = ::mmap(nullptr, kEnough, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED || ::getcontext(&call.there) != 0) return body(argc, argv);
  ::mprotect(memory, static_cast<size_t>(::sysconf(_SC_PAGESIZE)), PROT_NONE);  // its end
  call.argc = argc;
  call.argv = argv;
  call.body = body;
  call.there.uc_stack.ss_sp = memory;
  call.there.uc_stack.ss_size = kEnough;
  call.there.uc_link = &call.back;
  ::makecontext(&call.there, run_call, 0);
  if (::swapcontext(&call.back, &call.there) != 0) return body(argc, argv);
  ::munmap(memory, kEnough);
  return call.status;
}

}  // namespace fuseflow
