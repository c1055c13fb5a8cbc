#include "sim/memory/trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <string_view>
#include <utility>

#include "support/error.h"

namespace fuseflow {

namespace {

constexpr int64_t kWindow = 1 << 16;  // cycles, at least those of an answer

/// The next word of `line`, which it is taken from.
std::string_view take_word(std::string_view& line) {
  constexpr std::string_view kBlank = " \t\r";
  const size_t first = std::min(line.find_first_not_of(kBlank), line.size());
  line.remove_prefix(first);
  const size_t length = std::min(line.find_first_of(kBlank), line.size());
  const std::string_view word = line.substr(0, length);
  line.remove_prefix(length);
  return word;
}

template <typename Number>
bool read_number(std::string_view word, Number& number, int base = 10) {
  const char* end = word.data() + word.size();
  const auto [rest, status] = std::from_chars(word.data(), end, number, base);
  return status == std::errc() && rest == end;
}

/// Decimal, or hexadecimal after `0x`.
bool read_address(std::string_view word, uint64_t& address) {
  const bool hexadecimal = word.starts_with("0x") || word.starts_with("0X");
  return hexadecimal ? read_number(word.substr(2), address, 16) : read_number(word, address);
}

/// A line that says something.
TracedAccess parse_access(std::string_view line, const Location& where) {
  TracedAccess access;
  const std::string_view cycle = take_word(line);
  const std::string_view kind = take_word(line);
  const std::string_view address = take_word(line);
  const bool complete = !address.empty() && take_word(line).empty();
  const bool kind_known = kind == "R" || kind == "W";
  if (!complete || !kind_known || !read_number(cycle, access.cycle) || access.cycle < 0 ||
      !read_address(address, access.address)) {
    throw Error(ExitCode::rejected, where,
                "this is no access, expected `CYCLE R|W ADDRESS` such as `12 R 0x1f40`");
  }
  access.write = kind == "W";
  return access;
}

constexpr std::string_view kBurst = "burst_bytes";

/// `# burst_bytes 32`: the only comment that says something.
void read_burst(std::string_view words, MemoryTrace& trace, const Location& where) {
  if (take_word(words) != kBurst) return;
  int64_t bytes = 0;
  if (!read_number(take_word(words), bytes) || bytes < 1 || !take_word(words).empty()) {
    throw Error(ExitCode::rejected, where,
                "this says no size of bursts, expected `# burst_bytes BYTES` such as "
                "`# burst_bytes 32`");
  }
  if (trace.burst_bytes != 0 && trace.burst_bytes != bytes) {
    throw Error(ExitCode::rejected, where,
                fmt::format("bursts of {} bytes after bursts of {}, expected the trace of one run",
                            bytes, trace.burst_bytes));
  }
  trace.burst_bytes = bytes;
}

}  // namespace

MemoryTrace parse_memory_trace(const SourceText& source) {
  MemoryTrace result;
  std::vector<TracedAccess>& trace = result.accesses;
  std::string_view rest = source.text;
  for (int number = 1; !rest.empty(); ++number) {
    const size_t end = std::min(rest.find('\n'), rest.size());
    const std::string_view line = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    std::string_view words = line;
    const std::string_view first = take_word(words);
    const Location where{source.name, number};
    if (first == "#") read_burst(words, result, where);
    if (first.empty() || first.starts_with('#')) continue;
    trace.push_back(parse_access(line, where));
    if (trace.size() < 2 || trace[trace.size() - 2].cycle <= trace.back().cycle) continue;
    throw Error(ExitCode::rejected, where,
                fmt::format("cycle {} comes after cycle {}, expected cycles that do not fall",
                            trace.back().cycle, trace[trace.size() - 2].cycle));
  }
  return result;
}

std::vector<TracedAccess> in_bursts_of(MemoryTrace trace, const Machine& machine) {
  const int64_t theirs = trace.burst_bytes, ours = machine.dram.burst_bytes;
  if (theirs == 0 || theirs == ours) return std::move(trace.accesses);
  if (theirs % ours != 0) {
    throw Error(ExitCode::rejected,
                fmt::format("the trace has bursts of {} bytes, and machine `{}` has bursts of {}, "
                            "expected such that each is a whole number of the machine's; record it "
                            "with bursts of {} bytes",
                            theirs, machine.name, ours, ours));
  }
  std::vector<TracedAccess> split;
  split.reserve(trace.accesses.size() * static_cast<size_t>(theirs / ours));
  for (TracedAccess access : trace.accesses) {
    access.address -= access.address % static_cast<uint64_t>(theirs);
    for (int64_t part = 0; part < theirs / ours; ++part) {
      split.push_back(access);
      access.address += static_cast<uint64_t>(ours);
    }
  }
  return split;
}

std::string trace_head(const Machine& machine) {
  return fmt::format("# {} {}\n", kBurst, machine.dram.burst_bytes);
}

std::string trace_line(const TracedAccess& access) {
  return fmt::format("{} {} 0x{:x}\n", access.cycle, access.write ? 'W' : 'R', access.address);
}

void require_memory_model(const Machine& machine) {
  if (machine.dram.model != "none") return;
  throw Error(ExitCode::usage,
              fmt::format("machine `{}` has no memory model: `dram.model` is none, expected fixed, "
                          "banked or comal; `--machine rda` has one",
                          machine.name));
}

TraceRun run_memory_trace(const std::vector<TracedAccess>& trace, const Machine& machine) {
  require_memory_model(machine);
  const auto memory = make_memory(machine);
  if (!trace.empty() && trace.back().cycle > memory->latest()) {
    throw Error(ExitCode::rejected,
                fmt::format("the trace ends in cycle {}, expected at most {} at the clock of "
                            "machine `{}`",
                            trace.back().cycle, memory->latest(), machine.name));
  }
  const auto burst = static_cast<uint64_t>(machine.dram.burst_bytes);
  TraceRun run;
  std::vector<MemoryAnswer> answers;
  size_t next = 0;
  size_t answered = 0;
  int64_t horizon = 0;
  while (answered < trace.size()) {
    if (next < trace.size() && answered == next) horizon = std::max(horizon, trace[next].cycle);
    horizon += std::max(kWindow, memory->least_latency());
    for (; next < trace.size() && trace[next].cycle < horizon; ++next) {
      const TracedAccess& access = trace[next];
      memory->submit({access.cycle, 0, static_cast<int64_t>(next), access.address / burst * burst,
                      access.write});
    }
    answers.clear();
    memory->advance(horizon, answers);
    for (const MemoryAnswer& answer : answers) {
      run.cycles = std::max(run.cycles, answer.time);
      run.waiting += answer.time - trace[answer.number].cycle;
    }
    answered += answers.size();
  }
  run.stats = memory->stats();
  return run;
}

std::string trace_csv(const TraceRun& run, const Machine& machine) {
  const int64_t bursts = run.stats.reads + run.stats.writes;
  const double per_cycle = run.cycles == 0
                               ? 0
                               : static_cast<double>(bursts * machine.dram.burst_bytes) /
                                     static_cast<double>(run.cycles);
  const double latency =
      bursts == 0 ? 0 : static_cast<double>(run.waiting) / static_cast<double>(bursts);
  return fmt::format(
      "machine,model,cycles,reads,writes,row_hits,row_misses,mean_latency_cycles,"
      "gigabytes_per_second\n{},{},{},{},{},{},{},{:.2f},{:.2f}\n",
      machine.name, machine.dram.model, run.cycles, run.stats.reads, run.stats.writes,
      run.stats.row_hits, run.stats.row_misses, latency, per_cycle * machine.clock_gigahertz);
}

}  // namespace fuseflow
