#include "estimate/ports.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "nodes/rule.h"
#include "tensor/format.h"

namespace fuseflow::estimate {

namespace {

constexpr double kPortWord = 4;  // bytes of a position or coordinate
constexpr double kBitWord = 8;   // bytes of a word of a bit vector

}  // namespace

std::vector<Port> Ports::of(size_t n) const {
  std::vector<Port> ports = asked_by(n);
  if (begins_ != nullptr) place(s_.node(static_cast<NodeId>(n)), ports);
  return ports;
}

/// Where the arrays of a node's ports are: of values; or of a level's positions, where it has some,
/// and coordinates; of a gallop, of both levels.
void Ports::place(const Node& node, std::vector<Port>& ports) const {
  const bool values = node.kind == NodeKind::array || node.kind == NodeKind::write_values;
  for (size_t i = 0; i < ports.size(); ++i) {
    const bool other = i >= 2;
    const TensorId tensor = other ? node.other_tensor : node.tensor;
    const int level = other ? node.other_level : node.level;
    if (values) {
      ports[i].begin = begins_->values(tensor);
    } else if (ports.size() >= 2 && i % 2 == 0) {
      ports[i].begin = begins_->positions(tensor, level);
    } else {
      ports[i].begin = begins_->coordinates(tensor, level);
    }
  }
}

std::vector<Port> Ports::asked_by(size_t n) const {
  const Node& node = s_.node(static_cast<NodeId>(n));
  const StoredArrays& arrays = arrays_[static_cast<size_t>(node.tensor)];
  if (!writes_tensor(node.kind)) return of_reader(n, arrays);
  const double bytes = nodes_[n].write_bytes;
  if (bytes <= 0) return {};
  return {of_written(node, arrays, bytes)};
}

std::vector<Port> Ports::of_reader(size_t n, const StoredArrays& arrays) const {
  const Node& node = s_.node(static_cast<NodeId>(n));
  if (nodes_[n].read_bytes <= 0 || node.inputs.empty()) return {};
  const NodeCount& count = counts_.node[n];
  if (node.kind == NodeKind::gallop) return of_gallop(n);
  const Tensor& tensor = s_.program->tensors[static_cast<size_t>(node.tensor)];
  const StreamId ref = node.inputs[0].stream;
  if (node.kind == NodeKind::array) {
    const auto unit =
        static_cast<double>(element_bytes(tensor.type) * tensor.format.block_volume());
    return {by_scattered(ref, count.present, unit, arrays.values)};
  }
  const auto level = static_cast<size_t>(node.level);
  const LevelKind kind = tensor.format.levels[level];
  const StoredArrays::Level& array = arrays.levels[level];
  std::vector<Port> ports;
  if (kind != LevelKind::singleton) {
    ports.push_back(by_scattered(ref, count.present, kPortWord, array.positions));
  }
  ports.push_back(node.kind == NodeKind::scan ? of_scanned(n, kind, array.coordinates)
                                              : of_looked_up(n, kind, array));
  return ports;
}

/// What a gallop asks of the arrays of one of its levels. A jump looks up to twice as far as what
/// it seeks and then comes back: where that crosses the end of a burst, it asks for that one, too.
/// Looks that are farther apart than a burst ask for one each.
Ports::OfLevel Ports::of_galloped(size_t n, size_t which) const {
  const Node& node = s_.node(static_cast<NodeId>(n));
  const NodeCount& count = counts_.node[n];
  const auto tensor = static_cast<size_t>(which == 0 ? node.tensor : node.other_tensor);
  const auto level = static_cast<size_t>(which == 0 ? node.level : node.other_level);
  const StoredArrays::Level& array = arrays_[tensor].levels[level];
  const double words = burst_bytes_ / kPortWord;
  const double length = count.jumps > 0 ? count.passed / count.jumps : 0;
  const double each = length <= words ? 2 * length / words : 2 + 2 * std::log2(length / words);
  const double given = in_space(node.outputs[0]).elements;
  const bool one = array.coordinates <= burst_bytes_;
  OfLevel asked;
  asked.positions =
      by_references(node.inputs[which].stream, count.present, kPortWord, array.positions);
  asked.heads = one ? std::min(1.0, count.looks) : std::min(count.present, count.looks);
  asked.others = one ? 0 : count.jumps / 2 * each + given / words;
  asked.array = &array;
  return asked;
}

std::vector<Port> Ports::of_gallop(size_t n) const {
  std::vector<Port> ports;
  for (const size_t which : {0, 1}) {
    const OfLevel asked = of_galloped(n, which);
    ports.push_back({asked.positions, asked.array->positions, in_turn()});
    ports.push_back({asked.heads + asked.others, asked.array->coordinates, in_turn()});
  }
  return ports;
}

/// Positions are asked for together, and so are both heads.
double Ports::waits_of_gallop(size_t n) const {
  const OfLevel a = of_galloped(n, 0);
  const OfLevel b = of_galloped(n, 1);
  return std::max(a.positions, b.positions) + std::max(a.heads, b.heads) + a.others + b.others;
}

/// The coordinates of scanned fibers, which follow one another in a run of references; of a
/// bitvector the words, those of a fiber asked for in one step.
Port Ports::of_scanned(size_t n, LevelKind kind, double bytes) const {
  const NodeCount& count = counts_.node[n];
  Port port{0, bytes, in_turn()};
  const double runs = std::max(1.0, count.present - count.successors);
  if (kind == LevelKind::bitvector) {
    const double words = kBitWord * count.words;
    port.bursts = by_jumps(runs, words / runs, kBitWord, bytes);
    // The longest fibers decide how many are under way.
    const double longest = std::ceil(touched(words / std::max(1.0, count.present), kBitWord));
    port.together = std::max(1.0, longest);
    return port;
  }
  const double elements = in_space(s_.node(static_cast<NodeId>(n)).outputs[0]).elements;
  port.bursts = by_jumps(runs, kPortWord * elements / runs, kPortWord, bytes);
  return port;
}

/// What is looked up. Of a binary search each probe asks for a burst, but the last ones, which are
/// in one; words of bit vectors are looked up in ascending order.
Port Ports::of_looked_up(size_t n, LevelKind kind, const StoredArrays::Level& array) const {
  const double bytes = array.coordinates;
  const Node& node = s_.node(static_cast<NodeId>(n));
  const NodeCount& count = counts_.node[n];
  const StreamId ref = node.inputs[0].stream;
  Port port{0, bytes, in_turn()};
  if (kind == LevelKind::bitvector) {
    const Tensor& tensor = s_.program->tensors[static_cast<size_t>(node.tensor)];
    const auto extent = static_cast<double>(tensor.level_extent(static_cast<size_t>(node.level)));
    const double fibers = std::max(1.0, in_space(ref).nonempty);
    port.bursts = met(fibers, count.present, {extent, 1}, 1.0 / 8);
    return port;
  }
  const double probes = count.probes / std::max(1.0, count.present);
  const double apart = probes + 0.5 - std::log2(std::max(1.0, burst_bytes_ / kPortWord));
  const bool search = kind == LevelKind::compressed && count.search_steps > 0 && apart > 1;
  // A short fiber is in one burst, which is asked for where another fiber begins.
  const Column column = s_.canonical[static_cast<size_t>(ref)];
  const double entered =
      std::min(count.present, counts_.space[static_cast<size_t>(s_.home(column))].elements);
  port.bursts = by_jumps(search ? count.present * apart : entered, kPortWord, kPortWord, bytes);
  if (search) port.search = {apart, fiber_of(array) * kPortWord, count.present / entered};
  return port;
}

/// The mean length of the fibers of a stored level.
double Ports::fiber_of(const StoredArrays::Level& level) {
  return level.coordinates / std::max(kPortWord, level.positions - kPortWord);
}

/// A writer asks for a burst when it begins the next one. Coordinates and positions are written one
/// after the other, values where their coordinates say.
Port Ports::of_written(const Node& node, const StoredArrays& arrays, double bytes) const {
  if (node.kind != NodeKind::write_values) {
    return {std::max(1.0, bytes / burst_bytes_), bytes, in_turn()};
  }
  const Tensor& tensor = s_.program->tensors[static_cast<size_t>(node.tensor)];
  const auto element =
      static_cast<double>(element_bytes(tensor.type) * tensor.format.block_volume());
  const AddressLoops order = order_of_writes(node);
  if (arrays.values <= burst_bytes_ || order.bytes <= 0) return {1, arrays.values, in_turn()};
  Port port{order.bursts(burst_bytes_), arrays.values, written_near(order, element)};
  if (order.known()) port.order = order;
  return port;
}

/// The loops in which values are written. What is not stored is not written, so that a loop has
/// those elements below which there are some.
AddressLoops Ports::order_of_writes(const Node& node) const {
  const Tensor& tensor = s_.program->tensors[static_cast<size_t>(node.tensor)];
  const size_t dense = node.inputs.size() - 1;  // levels whose coordinates are given
  const int inner = s_.space_of(node.inputs.back().stream);
  std::map<int, double> steps;  // by loop
  auto apart = static_cast<double>(element_bytes(tensor.type) * tensor.format.block_volume());
  AddressLoops order{in_space(node.inputs.back().stream).elements > 0 ? apart : 0, {}};
  for (size_t c = dense; c-- > 0;) {
    const StreamId crd = node.inputs[c].stream;
    const int home = s_.home(s_.canonical[static_cast<size_t>(crd)]);
    steps[s_.around(home, inner) ? home : s_.space_of(crd)] += apart;
    const size_t level = tensor.format.levels.size() - dense + c;
    apart *= static_cast<double>(tensor.level_extent(level));
  }
  int space = inner;
  double elements = in_space(node.inputs.back().stream).elements;
  for (size_t loop = 0; loop < dense && s_.info(space).parent >= 0; ++loop) {
    const double listed = counts_.space[static_cast<size_t>(space)].nonempty;
    const double fibers = std::max(1.0, std::min(listed, elements));
    order.add(written_loop(space, elements / fibers, steps[space]));
    elements = fibers;
    space = s_.info(space).parent;
  }
  order.add({elements, elements, apart});  // below stored levels, one after the other
  return order;
}

/// Of a copy: its share of the loop, in one piece or every so many coordinates.
AddressLoop Ports::written_loop(int space, double number, double step) const {
  auto extent = static_cast<double>(s_.info(space).extent);
  const auto split = s_.spaces.split_of.find(space);
  if (split != s_.spaces.split_of.end()) {
    const auto copies = static_cast<double>(split->second.copies);
    extent = std::ceil(extent / copies);
    if (!split->second.contiguous) step *= copies;
  }
  return {std::min(number, extent), extent, step};
}

/// Bursts of an array that `present` references read, each `unit` bytes.
double Ports::by_references(StreamId ref, double present, double unit, double array_bytes) const {
  const Column column = s_.canonical[static_cast<size_t>(ref)];
  if (s_.column(column).kind == ColumnInfo::Kind::stream && column != ref) {  // repeated
    const double made = counts_.space[static_cast<size_t>(s_.home(column))].elements;
    return by_references(column, std::min(present, made), unit, array_bytes);
  }
  const double bytes = present * unit;
  if (bytes <= 0) return 0;
  if (array_bytes <= burst_bytes_) return 1;
  if (s_.sequential(s_.canonical[static_cast<size_t>(ref)])) {
    return std::max(1.0, bytes / burst_bytes_);
  }
  if (in_a_row(ref)) return by_rows(ref, bytes, array_bytes);
  const StreamId all = joined(ref);
  if (all >= 0 && s_.sequential(s_.canonical[static_cast<size_t>(all)])) {
    return met(1, present, {in_space(all).elements, 1}, unit);
  }
  int space = s_.space_of(ref);
  double fibers = std::max(1.0, in_space(ref).nonempty);
  AscendingReferences ascent = ascent_of(ref, space);
  if (ascent.extent <= 0) return by_jumps(present, unit, unit, array_bytes);
  double stretch = ascent.extent * ascent.step * unit;
  if (stretch > burst_bytes_) return met(fibers, present, ascent, unit);
  // A window of rows that are shorter than a burst.
  for (space = s_.info(space).parent; space >= 0; space = s_.info(space).parent) {
    ascent = ascent_of(ref, space);
    if (ascent.extent <= 0 || ascent.step * unit >= burst_bytes_) break;
    stretch += (ascent.extent - 1) * ascent.step * unit;
    fibers = std::max(1.0, counts_.space[static_cast<size_t>(space)].nonempty);
  }
  return by_jumps(fibers, stretch, unit, array_bytes);
}

/// Bursts that references ask for which follow each other within each fiber, and maybe within
/// fibers around it: `bytes` in rows, which are found by references of their own.
double Ports::by_rows(StreamId ref, double bytes, double array_bytes) const {
  double rows = std::max(1.0, in_space(ref).nonempty);
  for (ref = above(ref); in_a_row(ref); ref = above(ref)) {
    rows = std::max(1.0, in_space(ref).nonempty);
  }
  const double row = bytes / rows;
  const AscendingReferences ascent = ascent_of(ref, s_.space_of(ref));
  if (ascent.extent > 0 && row < burst_bytes_) {
    const double fibers = std::max(1.0, in_space(ref).nonempty);
    return std::max(bytes / burst_bytes_, met(fibers, rows, ascent, row));
  }
  return by_jumps(rows, row, row, array_bytes);
}

/// Bursts that `runs` stretches of `bytes` ask for, which begin anywhere at a multiple of `stride`.
double Ports::by_jumps(double runs, double bytes, double stride, double array_bytes) const {
  if (runs * bytes <= 0) return 0;
  if (array_bytes <= burst_bytes_) return 1;
  if (runs <= 1) return std::max(1.0, bytes / burst_bytes_);
  const double same = burst_bytes_ / array_bytes;  // begins in the burst where the last ended
  return std::max({1.0, runs * bytes / burst_bytes_, runs * (touched(bytes, stride) - same)});
}

/// Bursts that references meet which ascend within each fiber. Of E coordinates that lie in B
/// bursts, E / B each, a fiber of n meets B (1 - (1 - n / E)^(E / B)).
double Ports::met(double fibers, double references, const AscendingReferences& ascent,
                  double unit) const {
  const double spread = ascent.extent * ascent.step * unit / burst_bytes_;
  const double bursts = std::clamp(spread, 1.0, ascent.extent);
  const double listed = std::min(1.0, references / fibers / ascent.extent);
  return fibers * bursts * (1 - std::pow(1 - listed, ascent.extent / bursts));
}

/// Bursts that a stretch of `bytes` meets, on average over where it may begin.
double Ports::touched(double bytes, double stride) const {
  const auto burst = static_cast<int64_t>(burst_bytes_);
  const auto step = static_cast<int64_t>(std::clamp(stride, 1.0, 0x1p62));
  const int64_t apart = std::gcd(burst, step);
  double sum = 0;
  for (int64_t begin = 0; begin < burst; begin += apart) {
    sum += std::ceil((static_cast<double>(begin) + bytes) / burst_bytes_);
  }
  return sum * static_cast<double>(apart) / burst_bytes_;
}

const Node& Ports::maker(StreamId ref) const {
  const Column column = s_.canonical[static_cast<size_t>(ref)];
  return s_.node(s_.graph->streams[static_cast<size_t>(column)].producer);
}

/// The references of which a join keeps some; -1: these are not what a join keeps.
StreamId Ports::joined(StreamId ref) const {
  const Column column = s_.canonical[static_cast<size_t>(ref)];
  if (s_.column(column).kind != ColumnInfo::Kind::stream) return -1;
  const Node& made = maker(ref);
  if (join_rule(made.kind) == nullptr) return -1;
  const auto port = std::find(made.outputs.begin(), made.outputs.end(), column);
  const int input =
      node_rule(made.kind).carried(made, static_cast<size_t>(port - made.outputs.begin()));
  return input < 0 ? -1 : made.inputs[static_cast<size_t>(input)].stream;
}

/// Whether references follow each other within each fiber: scanned there, or looked up in a dense
/// level by coordinates that are counted there.
bool Ports::in_a_row(StreamId ref) const {
  const Column column = s_.canonical[static_cast<size_t>(ref)];
  const int space = s_.space_of(ref);
  if (s_.column(column).kind != ColumnInfo::Kind::stream || s_.home(column) != space) return false;
  const Node& made = maker(ref);
  if (made.kind == NodeKind::scan) return made.tensor >= 0;
  // A constant subscript has no coordinate input.
  if (made.kind != NodeKind::locate || made.inputs.size() != 2 || made.stride > 1) return false;
  const Tensor& tensor = s_.program->tensors[static_cast<size_t>(made.tensor)];
  const bool dense = tensor.format.levels[static_cast<size_t>(made.level)] == LevelKind::dense;
  const Column crd = s_.canonical[static_cast<size_t>(made.inputs[1].stream)];
  return dense && s_.info(space).opening == Opening::counted && s_.home(crd) == space;
}

/// The references whose fibers a stream of references in a row is in.
StreamId Ports::above(StreamId ref) const {
  return maker(ref).inputs[0].stream;
}

/// How references ascend with the coordinates of loop `space`, all others staying: those of a level
/// scanned there, of which a join may keep some; or of a dense level looked up by its coordinates,
/// and maybe others; or looked up in a level below such a one.
Ports::AscendingReferences Ports::ascent_of(StreamId ref, int space) const {
  const Column column = s_.canonical[static_cast<size_t>(ref)];
  if (s_.column(column).kind != ColumnInfo::Kind::stream) return {};
  const Node& made = maker(ref);
  if (made.kind == NodeKind::scan) {
    const SpaceCount& here = in_space(ref);
    if (s_.home(column) != space || here.nonempty <= 0) return {};
    return {here.elements / here.nonempty, 1};
  }
  if (const StreamId all = joined(ref); all >= 0) {
    if (s_.home(column) != space) return {};
    return ascent_of(all, s_.home(s_.canonical[static_cast<size_t>(all)]));
  }
  if (made.kind == NodeKind::gallop) {
    if (s_.home(column) != space) return {};
    const bool other = column == made.outputs[2];
    const TensorId tensor = other ? made.other_tensor : made.tensor;
    const int level = other ? made.other_level : made.level;
    return {fiber_of(arrays_[static_cast<size_t>(tensor)].levels[static_cast<size_t>(level)]), 1};
  }
  if (made.kind != NodeKind::locate) return {};
  const Tensor& tensor = s_.program->tensors[static_cast<size_t>(made.tensor)];
  const auto level = static_cast<size_t>(made.level);
  if (tensor.format.levels[level] != LevelKind::dense) return {};
  for (size_t c = 1; c < made.inputs.size(); ++c) {
    const Column crd = s_.canonical[static_cast<size_t>(made.inputs[c].stream)];
    if (s_.home(crd) != space) continue;
    const int64_t stride = c == 1 ? made.stride : made.strides[c - 2];
    return {static_cast<double>(s_.info(space).extent), std::fabs(static_cast<double>(stride))};
  }
  AscendingReferences ascent = ascent_of(made.inputs[0].stream, space);
  ascent.step *= static_cast<double>(tensor.level_extent(level));
  return ascent;
}

Port Ports::by_scattered(StreamId ref, double present, double unit, double array_bytes) const {
  Port port{by_references(ref, present, unit, array_bytes), array_bytes,
            pieces_.within(ref, unit, near_)};
  if (port.bursts <= 1) return port;
  const AddressLoops order = order_of_reads(ref, unit);
  if (order.known()) port.order = order;
  return port;
}

/// The loops through which references go, as far out as it is known where each goes on.
AddressLoops Ports::order_of_reads(StreamId ref, double unit) const {
  const Column column = s_.canonical[static_cast<size_t>(ref)];
  AddressLoops order{unit, {}};
  if (s_.column(column).kind != ColumnInfo::Kind::stream) return order;
  for (int space = s_.home(column); space >= 0; space = s_.info(space).parent) {
    const AscendingReferences ascent = ascent_of(column, space);
    if (ascent.extent <= 0) break;
    const SpaceCount& here = counts_.space[static_cast<size_t>(space)];
    const double number = here.elements / std::max(1.0, here.nonempty);
    order.add({std::min(number, ascent.extent), ascent.extent, ascent.step * unit});
  }
  return order;
}

ArrayPieces Ports::in_turn() const {
  return {1, std::max(1.0, near_) * kPortWord};
}

/// What is met near each other of an array that is written so, a value a cycle.
ArrayPieces Ports::written_near(const AddressLoops& order, double value) const {
  if (order.loops.empty()) return in_turn();
  ArrayPieces met{1, order.bytes};
  double cycles = order.bytes / value;
  for (const AddressLoop& loop : order.loops) {
    const double times = std::clamp(near_ / cycles, 1.0, std::max(1.0, loop.number));
    if (loop.step - met.bytes < burst_bytes_) {
      met.bytes += (times - 1) * loop.step;
    } else {
      met.number *= times;
    }
    cycles *= loop.number;
  }
  return met;
}

}  // namespace fuseflow::estimate