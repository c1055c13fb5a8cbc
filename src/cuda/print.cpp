#include "cuda/print.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>
#include <set>

#include "cuda/launch_text.h"
#include "cuda/online.h"
#include "cuda/refuse.h"
#include "cuda/rows.h"
#include "cuda/text.h"
#include "support/defect.h"

namespace fuseflow::cuda {
namespace {

/// The name of a load's ring, that of the first load that has it.
std::string ring_name(const Kernel& kernel, int load_number) {
  const int ring = kernel.loads[static_cast<size_t>(load_number)].ring;
  for (const Load& load : kernel.loads) {
    if (load.ring == ring) return load.name;
  }
  return "";
}

class Printer {
 public:
  Printer(const Program& program, const Kernel& kernel) : program_(program), kernel_(kernel) {
    const std::vector<TensorId> tensors = tensors_of(kernel);
    for (size_t i = 0; i < tensors.size(); ++i) numbers_[tensors[i]] = static_cast<int>(i);
  }

  std::string text() {
    line(fmt::format("// The schedule of kernel {}: made by fuseflow-cuda, not to be edited.",
                     kernel_.name));
    line("#pragma once");
    line("#include \"fuseflow.h\"");
    line("");
    open(fmt::format("namespace {}_schedule {{", kernel_.name), false);
    constants();
    close(fmt::format("}}  // namespace {}_schedule", kernel_.name), false);
    line("");
    line(fmt::format("FF_KERNEL({}, {}_schedule::Core) {{", kernel_.name, kernel_.name));
    depth_ = 1;
    body();
    depth_ = 0;
    line("}");
    return std::move(text_);
  }

 private:
  void line(const std::string& what) {
    text_ += what.empty() ? "\n" : std::string(static_cast<size_t>(depth_) * 2, ' ') + what + "\n";
  }
  void open(const std::string& what, bool indents = true) {
    line(what);
    if (indents) ++depth_;
  }
  void close(const std::string& what = "}", bool indents = true) {
    if (indents) --depth_;
    line(what);
  }
  std::string sums_name(int sums) const { return kernel_.sums[static_cast<size_t>(sums)].name; }
  const Load& load(int i) const { return kernel_.loads[static_cast<size_t>(i)]; }
  /// The name of a load's ring: of the first load that has it.
  std::string ring_of(int load_number) const { return ring_name(kernel_, load_number); }
  static std::string type_of(const std::string& name) {  // a matrix's type: c_held -> CHeld
    std::string type;
    bool up = true;
    for (const char c : name) {
      if (c == '_') {
        up = true;
      } else {
        type += up ? static_cast<char>(std::toupper(c)) : c;
        up = false;
      }
    }
    return type;
  }

  void matrix(const std::string& name, const MatrixForm& m) {
    line(fmt::format("using {} = ff::Matrix<{}, {}, ff::Along::{}, {}, {}>;", type_of(name), m.rows,
                     m.columns, m.by_rows ? "rows" : "columns", m.panel(), type_text(m.element)));
  }

  void constants() {
    line(fmt::format("constexpr int kGroups = {}, kBarriersAt = {};", kernel_.groups,
                     kernel_.barriers_at));
    LaunchText launch = launch_text(program_, kernel_, numbers_);
    text_ += launch.text;
    view_of_ = std::move(launch.view_of);
    if (kernel_.steps && kernel_.rows.dim >= 0)
      throw Refused{"rows of the table that say which steps are left out"};
    if (kernel_.steps) step_lists(*kernel_.steps);
    for (const Load& l : kernel_.loads) matrix(l.name, l.matrix);
    for (const ScratchpadMatrix& h : kernel_.held) matrix(h.name, h.matrix);
    line("using Core = ff::CoreOf<kGroups>;");
    for (const SumsForm& s : kernel_.sums) {
      line(fmt::format("using {}Sums = ff::Sums<Core, {}, {}>;", type_of(s.name), s.rows,
                       s.columns));
    }
  }

  void step_lists(const StepLists& all) {
    std::vector<std::string> ranges, first;
    for (const std::vector<StepRange>& list : all.lists) {
      first.push_back(std::to_string(ranges.size()));
      for (const StepRange& r : list)
        ranges.push_back(fmt::format("{{{}, {}, {}}}", r.begin, r.end, r.cores));
    }
    first.push_back(std::to_string(ranges.size()));
    line("// Steps, by list: the first one, the one after the last, the cores that take them.");
    table("ff::StepRange kRanges", ranges);
    line("// Where each list begins.");
    table("int kFirstRange", first);
  }
  void table(const std::string& name, const std::vector<std::string>& entries) {
    constexpr size_t kOfALine = 10;
    line(fmt::format("FF_TABLE {}[] = {{", name));
    for (size_t i = 0; i < entries.size(); i += kOfALine) {
      const auto begin = entries.begin() + static_cast<std::ptrdiff_t>(i);
      const auto end = begin + static_cast<std::ptrdiff_t>(std::min(kOfALine, entries.size() - i));
      line(fmt::format("    {},", fmt::join(begin, end, ", ")));
    }
    line("};");
  }

  void body() {
    line(fmt::format("using namespace {}_schedule;", kernel_.name));
    line(fmt::format("FF_BEGIN({}, kBarriersAt, Core);",
                     kernel_.table == nullptr ? "kLaunch.scratchpad" : "kScratchpad"));
    line("[[maybe_unused]] const int cluster = ff::cluster_of(core), rank = ff::rank_of(core);");
    if (kernel_.rows.dim >= 0) {
      line(fmt::format("[[maybe_unused]] const int row_steps = {};",
                       steps_text(kernel_.rows, "params.rows")));
    }
    variables_from("cluster");
    variables_from("rank");
    objects();
    line("ff::cluster_sync(core);  // all barriers have begun");
    open("if (ff::is_producer(core)) {");
    counts(kernel_.produce);
    steps(kernel_.produce);
    close("} else {");
    ++depth_;
    counts(kernel_.multiply);
    for (const SumsForm& s : kernel_.sums) line(fmt::format("{}Sums {};", type_of(s.name), s.name));
    steps(kernel_.multiply);
    close();
    line("ff::cluster_sync(core);  // nobody's scratchpad goes before its peers are done with it");
  }

  void variables_from(const std::string& what) {
    for (const Variable& v : kernel_.variables) {
      if (v.from == what) line(variable_text(v));
    }
  }

  static std::string variable_text(const Variable& v) {
    const std::string divided = v.divided_by_rows ? fmt::format(" / ({} * row_steps)", v.divisor)
                                : v.divisor > 1   ? fmt::format(" / {}", v.divisor)
                                                  : "";
    const std::string rest = v.extent == 0 ? ""
                             : v.of_rows   ? " % row_steps"
                                           : fmt::format(" % {}", v.extent);
    return fmt::format("const int {} = {}{}{};", v.name, v.from, divided, rest);
  }

  static void collect_counts(const std::vector<Step>& steps, const Kernel& kernel,
                             std::set<std::string>& names) {
    for (const Step& s : steps) {
      if (s.what == StepKind::load || s.what == StepKind::wait)
        names.insert(ring_name(kernel, s.a) + "_step");
      if (s.what == StepKind::count) names.insert(s.variable);
      collect_counts(s.body, kernel, names);
    }
  }
  void counts(const std::vector<Step>& of) {
    std::set<std::string> names;
    collect_counts(of, kernel_, names);
    if (names.empty()) return;
    std::vector<std::string> zeros;
    for (const std::string& name : names) zeros.push_back(name + " = 0");
    line(fmt::format("int {};", fmt::join(zeros, ", ")));
  }

  void objects() {
    for (size_t i = 0; i < kernel_.loads.size(); ++i) {
      const Load& l = kernel_.loads[i];
      if (ring_of(static_cast<int>(i)) != l.name) continue;
      const auto ring = static_cast<size_t>(l.ring);
      line(fmt::format("const ff::Ring<{}, {}::kBytes> {}{{{}, {}, {}}};",
                       kernel_.needs.rings[ring].copies, type_of(l.name), l.name,
                       kernel_.ring_at[ring], kernel_.ring_barrier[ring], text_of(l.peers)));
      line(fmt::format("{}.begin(core);", l.name));
    }
    for (size_t i = 0; i < kernel_.rooms.size(); ++i) {
      line(fmt::format("[[maybe_unused]] constexpr int {}_at = {};", kernel_.rooms[i].name,
                       kernel_.room_at[i]));
    }
    for (size_t i = 0; i < kernel_.held.size(); ++i) {
      line(fmt::format("constexpr int {}_at = {};", kernel_.held[i].name, kernel_.held_at[i]));
    }
    for (size_t i = 0; i < kernel_.scatters.size(); ++i) {
      const Scatter& s = kernel_.scatters[i];
      const int barrier = kernel_.scatter_barrier[i];
      line(fmt::format("const ff::ReduceScatter<{}, {}, {}, {}> {}{{{}, {}, {}, {}, {}}};",
                       s.peers.count, s.rows, s.columns, s.unit, s.name, kernel_.staged_at[i],
                       kernel_.slots_at[i], barrier, barrier + 1, text_of(s.peers)));
      line(fmt::format("{}.begin(core);", s.name));
    }
    for (size_t i = 0; i < kernel_.spreads.size(); ++i) {
      const ShareBroadcast& s = kernel_.spreads[i];
      line(fmt::format("const ff::Gather<{}, {}> {}{{{}, {}}};", s.peers.count,
                       type_of(kernel_.held[static_cast<size_t>(s.held)].name), s.name,
                       kernel_.spread_barrier[i], text_of(s.peers)));
      line(fmt::format("{}.begin(core);", s.name));
    }
    for (size_t i = 0; i < kernel_.rounds.size(); ++i) {
      const RingPass& r = kernel_.rounds[i];
      line(fmt::format("const ff::Shuffle<{}, {}, {}::kBytes> {}{{{}, {}, {}}};", r.peers.count,
                       r.slots, type_of(kernel_.held[static_cast<size_t>(r.held)].name), r.name,
                       kernel_.round_at[i], kernel_.round_barrier[i], text_of(r.peers)));
      line(fmt::format("{}.begin(core);", r.name));
    }
    for (size_t i = 0; i < kernel_.broadcasts.size(); ++i) {
      const TileBroadcast& b = kernel_.broadcasts[i];
      line(fmt::format("const ff::Broadcast<{}, {}> {}{{{}, {}}};", b.peers.count,
                       (b.peers.count - 1) * b.times * b.bytes, b.name,
                       kernel_.broadcast_barrier[i], text_of(b.peers)));
      line(fmt::format("{}.begin(core);", b.name));
    }
  }

  void steps(const std::vector<Step>& all) {
    for (const Step& s : all) step(s);
  }

  std::string held_place(int held, const Coordinate& at) const {
    const ScratchpadMatrix& h = kernel_.held[static_cast<size_t>(held)];
    if (h.tiles == 1) return h.name + "_at";
    return fmt::format("{}_at + ({}) * {}::kBytes", h.name, text_of(at), type_of(h.name));
  }
  /// The number of the tile of a ring that is next, or of one after it.
  std::string step_of_ring(int load_number, const Coordinate& after) const {
    const std::string step = ring_of(load_number) + "_step";
    return after.terms.empty() ? step : fmt::format("{} + {}", step, text_of(after));
  }
  /// The columns of sums that this core works on.
  std::string columns(const Step& s, int sums) const {
    if (s.scatter >= 0) return kernel_.scatters[static_cast<size_t>(s.scatter)].name + ".mine()";
    return fmt::format("ff::Columns{{0, {}}}", kernel_.sums[static_cast<size_t>(sums)].columns);
  }
  /// The template argument that says how many rows of sums there are, where not all.
  std::string rows(int sums) const {
    const bool all = kernel_.rows_there == 0 ||
                     kernel_.rows_there == kernel_.sums[static_cast<size_t>(sums)].rows;
    return all ? "" : fmt::format("<{}>", kernel_.rows_there);
  }
  const Scatter& scatter(const Step& s) const {
    return kernel_.scatters[static_cast<size_t>(s.scatter)];
  }

  /// The argument of a load that says which of its peers take the step, where not all do. A tile
  /// that threads gather is the core's own.
  std::string takers(const Load& load) const {
    if (takes_.empty()) return "";
    return !load.view ? ", " + takes_ : load.peers.count > 1 ? ", takers" : "";
  }

  void load_step(const Step& s) {
    const Load& l = load(s.a);
    const std::string ring = ring_of(s.a), step_name = ring + "_step";
    if (l.view) {
      std::string view = std::to_string(view_of_.at(l.name));
      if (l.second_branch)
        view = fmt::format("{} == 0 ? {} : {}", l.branch, view, view_of_.at(l.name) + 1);
      line(fmt::format("ff::load<{}>(core, {}, {}, params, {}, {}, {}, {}{});", type_of(l.name),
                       ring, step_name, view, text_of(l.row), text_of(l.column), text_of(l.batch),
                       takers(l)));
    } else {
      const auto gather = [&](const ElementAt& element) {
        line(fmt::format("ff::gather<{}, {}, {}>(core, {}, {}, params, {}, {}{});", type_of(l.name),
                         element.dims[0].block, element.dims[1].block, ring, step_name,
                         numbers_.at(element.tensor),
                         place_lambda(program_, kernel_, element, depth_ * 2), takers(l)));
      };
      if (l.second_branch) open(fmt::format("if ({} == 0) {{", l.branch));
      gather(l.element);
      if (l.second_branch) {
        close("} else {");
        ++depth_;
        gather(*l.second_branch);
        close();
      }
    }
    line(fmt::format("++{};", step_name));
  }

  void multiply_step(const Step& s) {
    std::array<std::string, 2> types, places;
    for (const bool right : {false, true}) {
      const FactorOf& f = right ? s.right : s.left;
      std::string type, place;
      if (f.kind == FactorOf::Kind::load) {
        type = type_of(load(f.number).name);
        place = fmt::format("{}.place({})", ring_of(f.number), step_of_ring(f.number, f.at));
      } else {
        const int held = f.kind == FactorOf::Kind::held
                             ? f.number
                             : kernel_.rounds[static_cast<size_t>(f.number)].held;
        type = type_of(kernel_.held[static_cast<size_t>(held)].name);
        place = f.kind == FactorOf::Kind::held ? held_place(held, f.at) : "here";
      }
      types[right ? 1 : 0] = type;
      places[right ? 1 : 0] = place;
    }
    line(fmt::format("ff::multiply<{}, {}>(core, {}, {}, {});", types[0], types[1], sums_name(s.a),
                     places[0], places[1]));
  }

  void loop_step(const Step& s) {
    if (s.parts == 1) {
      open(fmt::format("for (int {0} = 0; {0} < {1}; ++{0}) {{", s.variable,
                       s.over_rows ? "row_steps" : std::to_string(s.extent)));
    } else {
      const std::string part = text_of(s.part);
      open(fmt::format("for (int {0} = ({1}) * {2} / {3}; {0} < ({1} + 1) * {2} / {3}; ++{0}) {{",
                       s.variable, part, s.extent, s.parts));
    }
    variables_from(s.variable);
    steps(s.body);
    close();
  }

  void walk_step(const Step& s) {
    const StepLists& all = *kernel_.steps;
    line(fmt::format("const int list = {};", text_of(all.list)));
    open("for (int range = kFirstRange[list]; range < kFirstRange[list + 1]; ++range) {");
    if (all.differ) {
      line("const unsigned takers = kRanges[range].cores;");
      takes_ = fmt::format("(takers >> ({}) & 1U)", text_of(all.core));
    }
    open(fmt::format("for (int {0} = kRanges[range].begin; {0} < kRanges[range].end; ++{0}) {{",
                     s.variable));
    steps(s.body);
    takes_.clear();
    close();
    close();
  }

  /// The rows and columns of the tile that an element is of, as planned.
  static std::pair<int64_t, int64_t> tile_of(const ElementAt& element) {
    std::pair<int64_t, int64_t> sizes{1, 1};
    for (const DimensionAt& dim : element.dims) {
      if (dim.within == DimensionAt::TileAxis::row) sizes.first = dim.block;
      if (dim.within == DimensionAt::TileAxis::column) sizes.second = dim.block;
    }
    return sizes;
  }

  void finish_step(const Step& s) {
    const Finish& f = kernel_.finish;
    const ElementAt& element = kernel_.results[static_cast<size_t>(s.b)];
    const std::string place = place_lambda(program_, kernel_, element, depth_ * 2);
    const int tensor = numbers_.at(element.tensor);
    const std::string type = type_text(program_.tensors[static_cast<size_t>(element.tensor)].type);
    if (s.what == StepKind::store) {
      const SumsForm& sums = kernel_.sums[static_cast<size_t>(s.a)];
      const auto [tile_rows, tile_columns] = tile_of(element);
      std::string how = type, stored = columns(s, s.a);
      const bool narrow = s.scatter < 0 && tile_columns < sums.columns;
      const bool odd = narrow && tile_columns % 2 != 0;
      if (tile_rows < sums.rows || odd) how += fmt::format(", {}", std::min(tile_rows, sums.rows));
      if (odd) how += ", true";
      if (narrow) stored = fmt::format("ff::Columns{{0, {}}}", tile_columns);
      line(fmt::format("ff::store<{}>(core, {}, {}, params, {}, {});", how, sums_name(s.a), stored,
                       tensor, place));
      return;
    }
    const std::string there = rows(s.a);  // <4>, or nothing
    const std::string how =
        there.empty() ? fmt::format("<{}>", type) : fmt::format("<{}, {}", type, there.substr(1));
    line(fmt::format("ff::add_and_finish{}(core, {}, {}, {}, params, {}, {}, {}, {}, {});", how,
                     sums_name(s.a), kernel_.add_at, columns(s, s.a), text_of(f.tile),
                     text_of(f.counter), f.adders, tensor, place));
  }

  /// A step with a body that is no loop over tiles.
  void body_step(const Step& s) {
    switch (s.what) {
      case StepKind::taken:
      case StepKind::passed:
        open(fmt::format("if ({} {} 0) {{", takes_, s.what == StepKind::taken ? "!=" : "=="));
        steps(s.body);
        return close();
      case StepKind::when: {
        std::vector<std::string> zero;
        for (const std::string& v : s.zero) zero.push_back(v + " == 0");
        open(fmt::format("if ({}) {{", fmt::join(zero, " && ")));
        steps(s.body);
        return close();
      }
      case StepKind::distances: {
        const RingPass& r = kernel_.rounds[static_cast<size_t>(s.a)];
        open(fmt::format("for (int distance = 0; distance < {}; ++distance) {{", r.peers.count));
        line(fmt::format("[[maybe_unused]] const int whose = (place + distance) % {};",
                         r.peers.count));
        steps(s.body);
        return close();
      }
      default:
        throw Defect("a step of another kind");
    }
  }

  /// An exchange of shares of sums.
  void scatter_step(const Step& s) {
    switch (s.what) {
      case StepKind::await_room:
        return line(fmt::format("{}.wait_for_room(core, {});", scatter(s).name, s.variable));
      case StepKind::stage:
        return line(fmt::format("ff::put_sums{3}(core, {0}, {1}.staged, ff::Columns{{0, {2}}});",
                                sums_name(s.a), scatter(s).name, scatter(s).columns, rows(s.a)));
      case StepKind::scatter:
        return line(fmt::format("{}.exchange(core, {});", scatter(s).name, s.variable));
      case StepKind::add_shares:
        return line(
            fmt::format("for (int i = 0; i < {}; ++i) ff::add_sums{}(core, {}, {}.slot(i), {});",
                        scatter(s).peers.count - 1, rows(s.a), sums_name(s.a), scatter(s).name,
                        columns(s, s.a)));
      case StepKind::scatter_release:
        return line(fmt::format("{}.release(core);", scatter(s).name));
      default:
        throw Defect("a step of another kind");
    }
  }

  /// A matrix of each core that goes round the others.
  void round_step(const Step& s) {
    switch (s.what) {
      case StepKind::send_round: {
        const RingPass& r = kernel_.rounds[static_cast<size_t>(s.a)];
        return line(fmt::format("if (distance + 1 < {}) {}.send_to(core, {}, pass, distance + 1);",
                                r.peers.count, r.name, held_place(r.held, s.at)));
      }
      case StepKind::receive_round: {
        const RingPass& r = kernel_.rounds[static_cast<size_t>(s.a)];
        const std::string is_here =
            r.stay_over.empty()
                ? ""
                : fmt::format(" : {} > 0 ? {}.place(distance)", r.stay_over, r.name);
        return line(
            fmt::format("const int here = distance == 0 ? {}{} : {}.receive(core, pass, distance);",
                        held_place(r.held, s.at), is_here, r.name));
      }
      case StepKind::release_round:
        return line(fmt::format("if (distance > 0) {}.release(core, pass, distance);",
                                kernel_.rounds[static_cast<size_t>(s.a)].name));
      case StepKind::end_round:
        return line(fmt::format("{}.end_of_pass(core, pass);",
                                kernel_.rounds[static_cast<size_t>(s.a)].name));
      default:
        throw Defect("a step of another kind");
    }
  }

  /// Work on whole rows of a tile.
  void rows_step(const Step& s) {
    switch (s.what) {
      case StepKind::elements:
        return line(fmt::format(
            "ff::each_element(core, {}, {}, {});", kernel_.tile_rows, kernel_.tile_columns,
            element_lambda(program_, kernel_, kernel_.work[static_cast<size_t>(s.work)],
                           kernel_.results[0], numbers_, depth_ * 2)));
      case StepKind::rows: {
        const RowsReduction& r = *kernel_.reduction;
        return line(fmt::format(
            "ff::each_row(core, {}, {}, {}, {});", r.rows, r.columns,
            number_text(identity(r.reduction)),
            rows_lambdas(program_, kernel_, r, kernel_.results[0], numbers_, depth_ * 2)));
      }
      case StepKind::step_rows:
        return line(
            fmt::format("ff::each_whole_row(core, {}, {});", kernel_.step_rows->rows,
                        ::fuseflow::cuda::step_rows(program_, kernel_, numbers_, depth_ * 2)));
      case StepKind::row_program:
        return line(fmt::format("ff::each_whole_row(core, {}, {});", kernel_.tile_rows,
                                row_program(program_, kernel_, numbers_, depth_ * 2)));
      case StepKind::row_loop:
        return line(fmt::format("ff::each_whole_row(core, {}, {});", kernel_.tile_rows,
                                row_loop(program_, kernel_, s.a, numbers_, depth_ * 2)));
      case StepKind::row_values:
        return line(fmt::format("ff::each_whole_row(core, {}, {});", kernel_.rows_sent(),
                                row_values(program_, kernel_, s.a, numbers_, depth_ * 2)));
      default:
        throw Defect("a step of another kind");
    }
  }

  /// What the cores of a cluster have made, for all of them.
  void broadcast_step(const Step& s) {
    const TileBroadcast& b = kernel_.broadcasts[static_cast<size_t>(s.a)];
    const std::string turn = s.variable.empty() ? "0" : s.variable;
    switch (s.what) {
      case StepKind::broadcast_room:
        return line(fmt::format("{}.wait_for_room(core, {});", b.name, turn));
      case StepKind::broadcast: {
        const std::string at =
            b.held >= 0
                ? held_place(b.held, s.at)
                : fmt::format("{}_at + {} * {}", kernel_.rooms[static_cast<size_t>(b.room)].name,
                              text_of(s.at), b.bytes);
        return line(fmt::format("{}.send(core, {}, {});", b.name, at, b.bytes));
      }
      case StepKind::broadcast_wait:
        return line(fmt::format("{}.wait(core, {});", b.name, turn));
      case StepKind::broadcast_release:
        return line(fmt::format("{}.release(core);", b.name));
      default:
        throw Defect("a step of another kind");
    }
  }

  void work_step(const Step& s) {
    const std::string work =
        work_lambda(program_, kernel_, kernel_.work[static_cast<size_t>(s.work)], numbers_,
                    s.variable == "core_k" ? s.variable : "", depth_ * 2);
    line(fmt::format("ff::map(core, {}{}, {}, {});", sums_name(s.a),
                     s.b >= 0 ? ", " + sums_name(s.b) : "", columns(s, s.a), work));
  }

  void reduced_rows() {
    const StepRows& rows = *kernel_.step_rows;
    open(fmt::format("ff::each_whole_row(core, {}, [&](int row) {{", rows.rows));
    line("if (core.lane() > 0) return;");
    for (size_t i = 0; rows.may_have_none && i < rows.reductions.size(); ++i) {
      const Node& reduction = kernel_.graph->nodes[static_cast<size_t>(rows.reductions[i])];
      line(fmt::format("if (steps == 0) ff::put_own(core, state_at + ({} + row) * 4, {});",
                       static_cast<int64_t>(i) * rows.rows, number_text(reduction.init)));
    }
    line(fmt::format(
        "for (int i = 0; i < {0}; ++i) ff::put_one(core, reduced_at + (i * {1} + row) * 4, "
        "ff::get_own(core, state_at + (i * {1} + row) * 4));",
        rows.reductions.size(), rows.rows));
    close("});");
  }

  void step(const Step& s) {
    switch (s.what) {
      case StepKind::loop:
        return loop_step(s);
      case StepKind::walk:
        return walk_step(s);
      case StepKind::taken:
      case StepKind::passed:
      case StepKind::when:
      case StepKind::distances:
        return body_step(s);
      case StepKind::count:
        return line(fmt::format("++{};", s.variable));
      case StepKind::load:
        return load_step(s);
      case StepKind::wait:
        return line(fmt::format("{}.wait(core, {});", ring_of(s.a), step_of_ring(s.a, s.at)));
      case StepKind::release:
        line(fmt::format("{0}.release(core, {0}_step);", ring_of(s.a)));
        return line(fmt::format("++{}_step;", ring_of(s.a)));
      case StepKind::clear:
        return line(fmt::format("{}.clear();", sums_name(s.a)));
      case StepKind::multiply:
        return multiply_step(s);
      case StepKind::multiply_wait:
        return line(fmt::format("ff::multiply_wait(core, {});", sums_name(s.a)));
      case StepKind::work:
        return work_step(s);
      case StepKind::await_room:
      case StepKind::stage:
      case StepKind::scatter:
      case StepKind::add_shares:
      case StepKind::scatter_release:
        return scatter_step(s);
      case StepKind::put:
        return line(fmt::format("ff::put_matrix<{}>(core, {}, {}, {});",
                                type_of(kernel_.held[static_cast<size_t>(s.b)].name),
                                sums_name(s.a), held_place(s.b, s.at), columns(s, s.a)));
      case StepKind::fence:
        return line("ff::fence_async(core);");
      case StepKind::meet:
        return line("ff::group_sync(core);");
      case StepKind::spread:
        return line(fmt::format(
            "{}.exchange(core, {}, {});", kernel_.spreads[static_cast<size_t>(s.a)].name,
            held_place(kernel_.spreads[static_cast<size_t>(s.a)].held, s.at), s.variable));
      case StepKind::send_round:
      case StepKind::receive_round:
      case StepKind::release_round:
      case StepKind::end_round:
        return round_step(s);
      case StepKind::elements:
      case StepKind::rows:
      case StepKind::step_rows:
      case StepKind::row_program:
      case StepKind::row_loop:
      case StepKind::row_values:
        return rows_step(s);
      case StepKind::put_scores:
        return line(fmt::format("ff::put_sums(core, {}, {}_at, ff::Columns{{0, {}}});",
                                sums_name(s.a), kernel_.rooms[static_cast<size_t>(s.b)].name,
                                kernel_.sums[static_cast<size_t>(s.a)].columns));
      case StepKind::rescale:
        return line(
            fmt::format("if (steps > 0) ff::map(core, {}, {}, [&](int row, int, float x) -> float "
                        "{{ return x * "
                        "ff::get_one(core, rescale_at + row * 4); }});",
                        sums_name(s.a), columns(s, s.a)));
      case StepKind::reduced_rows:
        return reduced_rows();
      case StepKind::broadcast_room:
      case StepKind::broadcast:
      case StepKind::broadcast_wait:
      case StepKind::broadcast_release:
        return broadcast_step(s);
      case StepKind::store:
      case StepKind::add:
        return finish_step(s);
    }
  }

  const Program& program_;
  const Kernel& kernel_;
  TensorNumbers numbers_;
  std::map<std::string, int> view_of_;
  std::string takes_;  ///< within a walk whose steps not all cores take: not 0 where this one does
  int depth_ = 0;
  std::string text_;
};

/// What a product multiplies, as it lies in the scratchpad.
const MatrixForm& matrix_of(const Kernel& kernel, const FactorOf& factor) {
  const auto number = static_cast<size_t>(factor.number);
  if (factor.kind == FactorOf::Kind::load) return kernel.loads[number].matrix;
  const size_t held = factor.kind == FactorOf::Kind::held
                          ? number
                          : static_cast<size_t>(kernel.rounds[number].held);
  return kernel.held[held].matrix;
}

void find_products(const std::vector<Step>& steps, std::vector<const Step*>& all) {
  for (const Step& s : steps) {
    if (s.what == StepKind::multiply) all.push_back(&s);
    find_products(s.body, all);
  }
}

}  // namespace

std::vector<TensorId> tensors_of(const Kernel& kernel) {
  std::vector<TensorId> all;
  const auto add = [&](TensorId id) {
    if (std::find(all.begin(), all.end(), id) == all.end()) all.push_back(id);
  };
  for (const Node& node : kernel.graph->nodes) {
    if (node.kind == NodeKind::tile_load) add(node.tensor);
  }
  for (const ElementAt& result : kernel.results) add(result.tensor);
  if (all.size() > static_cast<size_t>(kMostTensors))
    throw Refused{fmt::format("{} tensors, more than {}", all.size(), kMostTensors)};
  return all;
}

std::vector<ProductForm> product_forms(const Kernel& kernel) {
  std::vector<const Step*> products;
  find_products(kernel.multiply, products);
  std::set<ProductForm> forms;
  for (const Step* s : products) {
    const SumsForm& sums = kernel.sums[static_cast<size_t>(s->a)];
    if (sums.rows % 64 != 0) continue;
    const MatrixForm &a = matrix_of(kernel, s->left), &b = matrix_of(kernel, s->right);
    int64_t left =
        sums.columns / (kernel.groups / std::gcd(sums.rows / 64, int64_t{kernel.groups}));
    while (left > 0) {
      int64_t columns = 256;
      while (columns > left) columns /= 2;
      forms.insert({columns, !a.by_rows, b.by_rows, a.element, b.element});
      left -= columns;
    }
  }
  return {forms.begin(), forms.end()};
}

std::string kernel_text(const Program& program, const Kernel& kernel) {
  return Printer(program, kernel).text();
}

}  // namespace fuseflow::cuda
