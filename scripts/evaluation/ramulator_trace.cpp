// Feeds a trace of `CYCLE R|W ADDRESS` to Ramulator 2, open loop, with the places that our memory
// model `banked` gives addresses. Built by dram.py beside Ramulator's library; no part of fuseflow.
//
//   ramulator_trace CONFIG TRACE channels burst interleave groups banks row_bytes ranks \
//                   ticks_per_cycle write_ticks
//
// `ranks`: levels between channel and bank group, all with place 0. A write has been made
// `write_ticks` after its command. Prints the cycle in which all is done, and the mean number of
// cycles from an access to its end; Ramulator's own statistics go to standard error.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <fstream>
#include <iostream>
#include <sstream>
#include <string>
#include <vector>

#include "ramulator/base/config.h"
#include "ramulator/base/factory.h"
#include "ramulator/base/request.h"
#include "ramulator/controller/controller_base.h"
#include "ramulator/frontend/i_frontend.h"
#include "ramulator/memory_system/i_memory_system.h"

namespace {

struct Access {
  int64_t cycle;
  bool write;
  uint64_t address;
};

std::vector<Access> read_trace(const char* path) {
  std::ifstream file(path);
  std::vector<Access> trace;
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line[0] == '#') continue;
    std::istringstream words(line);
    std::string kind;
    std::string address;
    Access access{};
    words >> access.cycle >> kind >> address;
    access.write = kind == "W";
    access.address = std::strtoull(address.c_str(), nullptr, 0);
    trace.push_back(access);
  }
  return trace;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 12) return 2;
  const auto number = [&](int i) { return std::strtoull(argv[i], nullptr, 10); };
  const uint64_t channels = number(3), burst = number(4), interleave = number(5);
  const uint64_t groups = number(6), banks = number(7), row_bytes = number(8);
  const uint64_t ranks = number(9), ticks = number(10), write_ticks = number(11);

  auto config = Ramulator::Config::parse_config_file(argv[1]);
  auto* frontend = Ramulator::Factory::create_frontend(config);
  auto* memory = Ramulator::Factory::create_memory_system(config);
  frontend->connect_memory_system(memory);
  memory->connect_frontend(frontend);

  const std::vector<Access> trace = read_trace(argv[2]);
  std::vector<std::deque<Ramulator::Request>> waiting(channels);
  uint64_t now = 0;
  uint64_t last = 0;
  size_t done = 0;
  uint64_t latency = 0;  // of all accesses
  for (size_t next = 0; done < trace.size(); ++now) {
    for (; next < trace.size() && static_cast<uint64_t>(trace[next].cycle) * ticks <= now; ++next) {
      const Access& access = trace[next];
      const uint64_t unit = access.address / interleave;
      const uint64_t n =
          unit / channels * (interleave / burst) + access.address % interleave / burst;
      const uint64_t along = n / groups / (row_bytes / burst);
      Ramulator::Request request;
      request.addr = static_cast<Ramulator::Addr_t>(access.address / burst * burst);
      request.type_id =
          access.write ? Ramulator::Request::Type::Write : Ramulator::Request::Type::Read;
      request.source_id = 0;
      request.size_bytes = memory->get_tx_bytes();
      request.addr_vec = {static_cast<int>(unit % channels)};
      request.addr_vec.insert(request.addr_vec.end(), ranks, 0);
      request.addr_vec.push_back(static_cast<int>(n % groups));
      request.addr_vec.push_back(static_cast<int>(along % banks));
      request.addr_vec.push_back(static_cast<int>(along / banks & 0x3fffffff));
      request.addr_vec.push_back(static_cast<int>(n / groups % (row_bytes / burst)));
      request.callback = [&now, &last, &done, &latency, asked = access.cycle * ticks,
                          more = access.write ? write_ticks : 0](Ramulator::Request&) {
        last = std::max(last, now + more);
        latency += now + more - asked;
        ++done;
      };
      waiting[unit % channels].push_back(std::move(request));
    }
    for (auto& queue : waiting) {
      while (!queue.empty() && memory->send(queue.front())) queue.pop_front();
    }
    memory->tick();
  }
  frontend->finalize();
  memory->finalize();
  std::printf("%llu %.2f\n", static_cast<unsigned long long>((last + ticks - 1) / ticks),
              static_cast<double>(latency) / static_cast<double>(ticks * trace.size()));
  memory->print_stats(std::cerr);
  return 0;
}
