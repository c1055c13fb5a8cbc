// Runs kernels on the CPU on data of files, twice each, and compares with what the simulator gave.
// With --program 1 once each, on what the kernels before gave. Kernels of a table of plans read
// what those before gave, too, and are run for --rows N, or for as many rows as each entry takes.
#pragma once

#include <map>

#include "data.h"

namespace ff {

class Runs {
 public:
  /// `most`: the rows that the entries of a table take up to, growing.
  Runs(int argc, char** argv, std::vector<long> most = {}) : most_(std::move(most)) {
    for (int i = 1; i < argc; i += 2) set(argv[i], i + 1 < argc ? argv[i + 1] : "");
    if (asked_ >= 0) entry_ = most_[entry_for(most_, asked_)];
  }

  /// The entry for up to so many rows: is it asked for?
  bool begin(long most) {
    given_.clear();
    rows_ = asked_ >= 0 ? asked_ : most;
    return asked_ < 0 || most == entry_;
  }
  long rows() const { return rows_; }

  /// A region that has no kernel: as a program, the others read what the simulator gave for it.
  void without(const char* region) const {
    if (program_) std::fprintf(stderr, "%s: no kernel; what it gives is read from data\n", region);
  }

  template <class Core, class Kernel>
  void run(const std::string& name, const Launch& launch, const Tensor* tensors,
           size_t tensor_count, const View* views, Kernel kernel) {
    names_ += names_.empty() ? name : ", " + name;
    if (!only_.empty() && only_ != name) return;
    ran_ = true;
    std::vector<std::vector<float>> values(tensor_count);
    for (size_t t = 0; t < tensor_count; ++t) {
      // Intermediates of a table are not always those of its largest program, which the data are
      // of.
      const bool intermediate =
          is_table() && (tensors[t].result || given_.count(tensors[t].number));
      values[t] = read_data(data_, tensors[t]);
      if (values[t].empty() && !intermediate) no_data(data_, tensors[t]);
      for (float& x : values[t]) x = rounded_to(tensors[t].type, x);
    }
    const std::vector<std::vector<float>> expected = values;
    for (size_t t = 0; t < tensor_count; ++t) {
      if (const auto at = given_.find(tensors[t].number); at != given_.end())
        values[t] = at->second;
    }
    std::vector<float> sums(static_cast<size_t>(launch.sums));
    std::vector<int> counters(static_cast<size_t>(launch.counters));
    const Params params{views, &values, tensors, &sums, &counters, static_cast<int>(rows_)};
    // What a launch leaves is where the next one begins.
    const int turns = program_ && !is_table() ? 1 : 2;
    for (int turn = 0; turn < turns; ++turn) {
      for (size_t t = 0; t < tensor_count; ++t) {
        if (tensors[t].result)
          values[t].assign(static_cast<size_t>(tensors[t].elements), unwritten());
      }
      const unsigned seed = seed_ + static_cast<unsigned>(turn) * 1000;
      put_beyond() = false;
      const Counts counts = ff::launch<Core>(launch, params, seed, kernel);
      std::vector<std::vector<float>> depends;  // NaN where results depend on what was beyond
      if (put_beyond()) depends = launched<Core>(beyond_is_nan(), launch, params, seed, kernel);
      Difference most;
      bool right = true;
      long undecided = 0, elements = 0;
      for (size_t r = 0; r < tensor_count; ++r) {
        if (!tensors[r].result) continue;
        std::vector<float> wanted = expected[r], got = values[r];
        std::vector<size_t> open;  // undecided elements
        for (size_t i = 0; i < got.size() && !depends.empty(); ++i) {
          const bool is_open = std::isnan(depends[r][i]) && !std::isnan(wanted[i]);
          if (is_open && !is_unwritten(got[i])) open.push_back(i);
        }
        for (const size_t i : open) got[i] = wanted[i] = 0;
        undecided += static_cast<long>(open.size());
        elements += static_cast<long>(got.size());
        const Difference here = difference(got, wanted, wanted);
        most.join(here);
        double bound = tolerance_ < 0 ? 4 * roundoff(tensors, tensor_count) : tolerance_;
        if (tolerance_ < 0 && here.relative > bound) {
          auto other = launched<Core>(rounds_other_way(), launch, params, seed, kernel);
          for (const size_t i : open) other[r][i] = 0;
          bound += difference(other[r], got, wanted).relative;
        }
        right = right && here.relative <= bound && std::isfinite(bound);
      }
      wrong_ = wrong_ || !right;
      if (is_table()) std::printf("%ld rows: ", rows_);
      std::printf("%s: %s, largest difference %g, relative error %.3g", name.c_str(),
                  !right                  ? "WRONG"
                  : undecided == elements ? "undecided"
                                          : "right",
                  most.largest, most.relative);
      if (undecided > 0) {
        std::printf(", %ld elements undecided: a value between products is beyond its type",
                    undecided);
      }
      std::printf("; bytes loaded %ld, gathered %ld, added %ld, taken %ld, stored %ld, sent %ld\n",
                  counts.loaded, counts.gathered, counts.added, counts.taken, counts.stored,
                  counts.sent);
    }
    for (size_t t = 0; t < tensor_count && (program_ || is_table()); ++t) {
      if (tensors[t].result) given_[tensors[t].number] = values[t];
    }
    for (const float x : sums) {
      if (x != 0) fail(name + " leaves sums that are not 0");
    }
  }
  int status() const {
    if (ran_ || only_.empty()) return wrong_ ? 1 : 0;
    std::fprintf(stderr, "--only %s: no such kernel, expected one of %s\n", only_.c_str(),
                 names_.c_str());
    return 2;
  }

 private:
  /// What results are where what lies between products is put `otherwise`. Rounded the other way it
  /// moves them further than rounding does, also where large terms cancel.
  template <class Core, class Kernel>
  static std::vector<std::vector<float>> launched(bool& otherwise, const Launch& launch,
                                                  const Params& params, unsigned seed,
                                                  Kernel kernel) {
    std::vector<std::vector<float>> values = *params.tensors;
    std::vector<float> sums(params.sums->size());
    std::vector<int> counters(params.counters->size());
    const Params others{params.views, &values, params.described, &sums, &counters, params.rows};
    otherwise = true;
    ff::launch<Core>(launch, others, seed, kernel);
    otherwise = false;
    return values;
  }

  void set(const std::string& option, const char* value) {
    if (option == "--seed") {
      seed_ = static_cast<unsigned>(whole_number("--seed", value));
    } else if (option == "--data" && *value != 0) {
      data_ = value;
    } else if (option == "--only" && *value != 0) {
      only_ = value;
    } else if (option == "--program") {
      program_ = whole_number("--program", value) != 0;
    } else if (option == "--tolerance" && *value != 0) {
      char* end = nullptr;
      tolerance_ = std::strtod(value, &end);
      if (*end != 0 || !(tolerance_ >= 0)) refuse("--tolerance " + std::string(value));
    } else if (option == "--rows" && is_table()) {
      asked_ = whole_number("--rows", value);
    } else {
      refuse(option + " " + value);
    }
  }
  [[noreturn]] void refuse(const std::string& what) const {
    std::fprintf(stderr,
                 "%s: expected --seed N, --data FOLDER, --only KERNEL, --program 0 or 1, "
                 "--tolerance ERROR%s\n",
                 what.c_str(), is_table() ? ", --rows N" : "");
    std::exit(2);
  }

  bool is_table() const { return !most_.empty(); }

  unsigned seed_ = 1;
  std::string data_ = "data", only_;
  double tolerance_ = -1;  ///< none given
  bool program_ = false;
  std::vector<long> most_;  ///< none: no table
  long asked_ = -1, entry_ = -1, rows_ = 0;
  std::map<int, std::vector<float>> given_;  ///< by number: what kernels before gave
  std::string names_;                        ///< of all kernels
  bool ran_ = false, wrong_ = false;
};

}  // namespace ff

#define FF_RUN(runs, name)                                           \
  (runs).run<name##_schedule::Core>(                                 \
      #name, name##_schedule::kLaunch, name##_schedule::kTensors,    \
      std::size(name##_schedule::kTensors), name##_schedule::kViews, \
      [](const auto& core, const ff::Params& params) { name(core, params); })

#define FF_RUN_ROWS(runs, name)                                                  \
  do {                                                                           \
    const name##_schedule::OfRows of{(runs).rows()};                             \
    (runs).run<name##_schedule::Core>(                                           \
        #name, of.launch, of.tensors, std::size(of.tensors), of.views,           \
        [](const auto& core, const ff::Params& params) { name(core, params); }); \
  } while (false)
