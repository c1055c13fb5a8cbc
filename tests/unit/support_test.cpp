#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <csignal>
#include <filesystem>
#include <vector>

#include "support/csv.h"
#include "support/dependency_order.h"
#include "support/error.h"
#include "support/input_kind.h"
#include "support/interrupt.h"
#include "support/io.h"
#include "support/latest.h"
#include "support/on_threads.h"
#include "support/parallel_for.h"
#include "support/sort_numbers.h"
#include "support/stack.h"
#include "support/stop.h"
#include "support/strong_components.h"
#include "support/text.h"

namespace fuseflow {
namespace {

TEST(StrongComponents, AreThoseThatReachEachOther) {
  EXPECT_EQ(strong_components({}).count, 0U);
  // 0 -> 1 -> 2 -> 1, 2 -> 3, 4 -> 4
  const StrongComponents found = strong_components({{1}, {2}, {1, 3}, {}, {4}});
  EXPECT_EQ(found.count, 4U);
  EXPECT_EQ(found.part[1], found.part[2]);
  // Every edge goes to the same number or a smaller one.
  EXPECT_GT(found.part[0], found.part[1]);
  EXPECT_GT(found.part[2], found.part[3]);
  // A long chain, and the same closed: no recursion, one component.
  std::vector<std::vector<size_t>> chain(200'000);
  for (size_t v = 0; v + 1 < chain.size(); ++v) chain[v].push_back(v + 1);
  EXPECT_EQ(strong_components(chain).count, chain.size());
  chain.back().push_back(0);
  EXPECT_EQ(strong_components(chain).count, 1U);
}

TEST(DependencyOrder, KeepsTheOrderWhereItMay) {
  EXPECT_EQ(dependency_order({}), std::vector<size_t>{});
  EXPECT_EQ(dependency_order({{2, 2}, {}, {3}, {}}), (std::vector<size_t>{1, 3, 2, 0}));
  EXPECT_EQ(first_left_out({1, 3, 2, 0}, 4), 4U);
}

TEST(DependencyOrder, LeavesOutACircleAndWhatNeedsIt) {
  const std::vector<size_t> order = dependency_order({{3}, {2}, {1}, {1}, {}});
  EXPECT_EQ(order, std::vector<size_t>{4});
  EXPECT_EQ(first_left_out(order, 5), 0U);
}

TEST(Diagnostic, HasPlaceMessageSourceLineAndCaret) {
  const Diagnostic diagnostic{Severity::error, {"a.ff", 2, 3, 2}, "bad, expected good", "xxyyzz"};
  EXPECT_EQ(format(diagnostic), "a.ff:2:3: error: bad, expected good\nxxyyzz\n  ^~\n");
}

TEST(Diagnostic, ElidesLongLinesAroundTheCaret) {
  const Diagnostic diagnostic{Severity::error, {"a", 1, 500, 1}, "m", std::string(1000, 'x')};
  EXPECT_LT(format(diagnostic).size(), 400U);
}

TEST(Diagnostic, EscapesWhatIsNotPrintable) {
  const Diagnostic diagnostic{Severity::error, {"a", 1, 4, 2}, "m\x1b", "\x01\xff\xc3\xa9xy"};
  EXPECT_EQ(format(diagnostic), "a:1:4: error: m\\x1b\n\\x01\\xff\xc3\xa9xy\n         ^\n");
}

TEST(Text, Utf8) {
  EXPECT_EQ(utf8_length("a", 0), 1U);
  EXPECT_EQ(utf8_length("\xc3\xa9", 0), 2U);
  EXPECT_EQ(utf8_length("\xf0\x9f\x98\x80", 0), 4U);
  for (const char* wrong : {"\xc3", "\xa9", "\xc0\x80", "\xed\xa0\x80", "\xf5\x80\x80\x80"}) {
    EXPECT_EQ(utf8_length(wrong, 0), 0U) << wrong;
  }
  EXPECT_EQ(printable("a\tb\xc2\x85"), "a\\x09b\\xc2\\x85");
  EXPECT_EQ(quoted_string("a\"\n\xff"), "\"a\\\"\\n\\xff\"");
}

TEST(NearestName, FindsTypingErrorsOnly) {
  EXPECT_EQ(nearest_name("dens", {"dense", "compressed"}), "dense");
  EXPECT_EQ(nearest_name("zebra", {"dense", "compressed"}), "");
}

TEST(Interrupt, TheFirstSignalSetsTheFlag) {
  for (const int number : {SIGINT, SIGTERM}) {
    EXPECT_EXIT(
        {
          const InterruptScope outer;
          { const InterruptScope inner; }
          if (interrupted()) std::exit(1);
          std::raise(number);
          std::exit(interrupted() && interrupt_flag() ? 0 : 1);
        },
        testing::ExitedWithCode(0), "");
  }
}

TEST(Interrupt, TheSecondSignalKills) {
  EXPECT_EXIT(
      {
        const InterruptScope scope;
        std::raise(SIGINT);
        std::raise(SIGTERM);
      },
      testing::KilledBySignal(SIGTERM), "");
}

TEST(Interrupt, OutsideOfAScopeSignalsDoWhatTheyDid) {
  EXPECT_EXIT(
      {
        { const InterruptScope scope; }
        std::raise(SIGTERM);
      },
      testing::KilledBySignal(SIGTERM), "");
  EXPECT_EXIT(
      {
        std::signal(SIGINT, SIG_IGN);
        const InterruptScope scope;
        std::raise(SIGINT);
        std::exit(interrupted() ? 1 : 0);
      },
      testing::ExitedWithCode(0), "");
}

TEST(Stop, OnlyWithinItsScope) {
  stop_if_asked();
  stop_if_larger(UINT64_MAX);
  EXPECT_FALSE(may_be_stopped());
  {
    const StopScope scope("nothing was done", 0, 100);
    EXPECT_TRUE(may_be_stopped());
    stop_if_larger(100);
    EXPECT_THROW(stop_if_larger(101), Stopped);
  }
  const StopScope late("nothing was done", 1e-9);
  const auto work_without_end = [] {
    for (PeriodicStopCheck stop;;) stop.step();
  };
  try {
    work_without_end();
  } catch (const Stopped& stopped) {
    EXPECT_EQ(stopped.why(), Stopped::Why::seconds);
    EXPECT_STREQ(stopped.what(), "nothing was done: the limit of --max-seconds was reached");
  }
}

TEST(Latest, ProductsAreCapped) {
  EXPECT_EQ(capped_product(3, 5), 15);
  EXPECT_EQ(capped_product(kLongest, 1), kLongest);
  EXPECT_EQ(capped_product(int64_t{1} << 40, int64_t{1} << 40), kLongest);
  EXPECT_EQ(capped_product(int64_t{1} << 31, int64_t{1} << 31), kLongest);
}

/// Calls itself so many times, each call with about 4 KiB of stack.
int deep(int calls) {
  std::array<volatile char, 4096> own{};
  own[0] = static_cast<char>(calls);
  return calls == 0 ? 0 : deep(calls - 1) + (own[0] == static_cast<char>(calls) ? 1 : 0);
}

[[noreturn]] void exit_from_a_small_stack() {
  const rlimit small{256 << 10, 256 << 10};
  ::setrlimit(RLIMIT_STACK, &small);
  std::exit(on_enough_stack(
      7, nullptr, [](int argc, char**) { return argc == 7 && deep(1000) == 1000 ? 0 : 1; }));
}

TEST(Stack, IsDeepEnoughWhateverTheLimitIs) {
  EXPECT_EXIT(exit_from_a_small_stack(), testing::ExitedWithCode(0), "");
}

[[noreturn]] void exit_without_threads() {
  // No limit of processes holds for the superuser.
  if (::getuid() == 0 && ::setuid(65534) != 0) std::exit(2);
  const rlimit none{1, 1};
  ::setrlimit(RLIMIT_NPROC, &none);
  std::atomic<int> next = 0;
  on_threads(4, [&] {
    while (next++ < 100) continue;
  });
  std::atomic<int> done = 0;
  parallel_for(0, 100, [&](int) { ++done; });
  std::_Exit(next >= 100 && done == 100 ? 0 : 1);  // a sanitizer's search for leaks starts a thread
}

TEST(Threads, ThatCannotStartAreDoneWithout) {
  EXPECT_EXIT(exit_without_threads(), testing::ExitedWithCode(0), "");
}

TEST(MappedFile, MadeShorterWhileItIsReadEndsWithAMessage) {
  const std::string path =
      std::filesystem::path(::testing::TempDir()) / fmt::format("fuseflow_shorter_{}", ::getpid());
  write_output(path, std::string(100'000, 'x'));
  EXPECT_EXIT(
      {
        const MappedFile file(path);
        const MappedFile other(path);
        if (::truncate(path.c_str(), 10) != 0) std::exit(1);
        std::exit(other.bytes()[99'000] == 'x' ? 1 : 2);
      },
      testing::ExitedWithCode(static_cast<int>(ExitCode::io)),
      "fuseflow_shorter_[0-9]+: error: the file was made shorter while it was read");
  std::filesystem::remove(path);
}

TEST(SortNumbers, SortsAnyNumbers) {
  for (const int bits : {1, 10, 11, 12, 22, 40, 64}) {
    for (const size_t count : {size_t{0}, size_t{1}, size_t{511}, size_t{512}, size_t{5000}}) {
      std::vector<uint64_t> numbers;
      for (uint64_t k = 1; k <= count; ++k) {
        numbers.push_back((k * 0x9E3779B97F4A7C15U) >> (64 - bits));
      }
      std::vector<uint64_t> expected = numbers;
      std::sort(expected.begin(), expected.end());
      sort_numbers(numbers);
      EXPECT_EQ(numbers, expected) << bits << " bits, " << count << " numbers";
    }
  }
}

TEST(Output, ALinkStaysALink) {
  namespace fs = std::filesystem;
  const fs::path folder =
      fs::path(::testing::TempDir()) / fmt::format("fuseflow_output_link_{}", ::getpid());
  fs::create_directories(folder);
  const std::string file = folder / "file", link = folder / "link";
  fs::remove(link);
  write_output(file, "old, and longer");
  fs::create_symlink(file, link);
  write_output(link, "new");
  EXPECT_TRUE(fs::is_symlink(fs::symlink_status(link)));
  EXPECT_EQ(read_source(file).text, "new");
  fs::remove_all(folder);
}

TEST(InputKind, MlirBeginsWithAModuleAFunctionOrAnAlias) {
  EXPECT_EQ(kind_of("// a comment\n\nmodule {\n}\n"), InputKind::mlir);
  EXPECT_EQ(kind_of("func.func @main() {\n"), InputKind::mlir);
  EXPECT_EQ(kind_of("#map = affine_map<(i) -> (i)>\n"), InputKind::mlir);
  EXPECT_EQ(kind_of("#CSR = #sparse_tensor.encoding<{ map = (i, j) -> (i, j) }>\n"),
            InputKind::mlir);
  EXPECT_EQ(kind_of("# module of ours\nfuseflow 1\n"), InputKind::program);
  EXPECT_EQ(kind_of("# a comment\nhello"), InputKind::text);
}

TEST(InputKind, AFieldThatIsLongerThanTheFileIsNoOnnx) {
  using namespace std::string_literals;
  const std::string head = "\x08\x07\x12\x02pt"s;  // version 7, made by "pt"
  const std::string graph = "\x3a\x02\x0a"s;       // a graph of two bytes, cut off
  EXPECT_EQ(kind_of(head + graph), InputKind::onnx);
  EXPECT_EQ(kind_of(head + "\x12\x7f"s + graph), InputKind::binary);   // 127 bytes, there are 3
  EXPECT_EQ(kind_of("\x3a\x04\x62\x02ok\x42\x00"s), InputKind::onnx);  // an output, the operators
  EXPECT_EQ(kind_of("\x3a\x04\x22\x02ok"s), InputKind::binary);        // a field that no graph has
}

TEST(Stop, LimitsBelowAByteAreLimits) {
  EXPECT_EQ(limit_in_bytes(0), 0);
  EXPECT_EQ(limit_in_bytes(1e-300), 1);
  EXPECT_EQ(limit_in_bytes(2), 2 << 20);
  EXPECT_EQ(limit_in_bytes(1e300), int64_t{1} << 62);
}

TEST(Csv, NamesComeBack) {
  for (const std::string name :
       {"a\nb", "a\r\n\t\"b\",", "\x1b[2J\xff\\x41", "\xef\xbf\xbe", "\\x5c"}) {
    EXPECT_EQ(csv_fields(csv_field(name)), std::vector<std::string>{name});
    EXPECT_EQ(csv_field(name).find_first_of("\n\r"), std::string::npos);
  }
  EXPECT_EQ(csv_message("two\nlines"), "two lines");
}

}  // namespace
}  // namespace fuseflow
