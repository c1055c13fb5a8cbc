#include "lower/phase.h"

#include <algorithm>
#include <cmath>

#include "lower/finish.h"
#include "lower/results.h"
#include "tensor/rounding.h"

namespace fuseflow {

namespace {

/// The position of a thing in an ascending list that has it.
template <typename T>
int position_in(const std::vector<T>& list, T thing) {
  return static_cast<int>(std::lower_bound(list.begin(), list.end(), thing) - list.begin());
}

class PhaseLowering {
 public:
  PhaseLowering(const PhaseContext& context, const PhaseNames& names)
      : context_(context),
        names_(names),
        builder_(context.max_nodes),
        emitter_(context.program, context.indices, context.expressions, context.order, context.held,
                 builder_) {}

  LoweredPhase run(const std::vector<PhaseRoot>& roots) {
    if (context_.names_count) builder_.keep_names();
    emitter_.begin_phase(0);
    for (const PhaseRoot& root : roots) lower_root(root);
    LoweredPhase phase;
    phase.same_loops = builder_.same_indices();
    builder_.settle_indices();
    phase.made = builder_.graph().nodes.size();
    phase.spaces = emitter_.spaces();
    phase.last_origin = own_statement(builder_.origin());
    phase.plain = {std::move(builder_.graph()), builder_.origins()};
    phase.loop_of = remove_dead(phase.plain.graph, phase.plain.origins);
    take_own_numbers(phase);
    return phase;
  }

 private:
  void lower_root(const PhaseRoot& root) {
    const Instance& instance = context_.indices.instances[static_cast<size_t>(root.instance)];
    const Statement& statement = context_.program.regions[0].statements[instance.statement];
    std::vector<int> map;
    for (const IndexId index : statement.result_indices) map.push_back(instance.map[index].plain());
    builder_.set_origin(instance.statement);
    StreamTensor value = emitter_.emit_root(root.node, map, root.everywhere);
    builder_.set_origin(instance.statement);
    write_result(context_.program, statement.result, map, std::move(value), emitter_, builder_);
  }

  size_t own_statement(size_t statement) const {
    return static_cast<size_t>(position_in(names_.statements, statement));
  }

  void take_own_numbers(LoweredPhase& phase) const {
    for (Node& node : phase.plain.graph.nodes) {
      for_tensors(node, [&](TensorId& tensor) { tensor = position_in(names_.tensors, tensor); });
    }
    for (size_t& origin : phase.plain.origins) origin = own_statement(origin);
    phase.loops.resize(emitter_.loops().size());
    for (const auto& [loop, number] : emitter_.loops()) {
      const auto& [index, around] = loop;
      phase.loops[static_cast<size_t>(number)] = {
          index < 0 ? -1 : position_in(names_.indices, index), around};
    }
    phase.join_places = emitter_.join_places();
    for (JoinPlace& place : phase.join_places) {
      for (TensorId& tensor : place.tensors) tensor = position_in(names_.tensors, tensor);
      const auto named = std::find_if(names_.indices.begin(), names_.indices.end(), [&](int index) {
        return context_.indices.indices[static_cast<size_t>(index)].name == place.index;
      });
      phase.join_indices.push_back(static_cast<int>(named - names_.indices.begin()));
      place.index.clear();
    }
  }

  const PhaseContext& context_;
  const PhaseNames& names_;
  GraphBuilder builder_;
  Emitter emitter_;
};

/// What is rounded to the type of the tensor that stores it, without that: storing rounds.
int without_rounding(const Expressions& expressions, int node, const Tensor& tensor) {
  const ExprNode& made = expressions.nodes[static_cast<size_t>(node)];
  const bool rounds =
      made.kind == ExprNode::Kind::apply && made.op == rounding_operator(tensor.type);
  if (!rounds) return node;
  const int value = made.children[0];
  return expressions.nodes[static_cast<size_t>(value)].fill == made.fill ? value : node;
}

}  // namespace

PhaseRoot phase_root(const Program& program, const RegionIndices& indices,
                     const Expressions& expressions, int root) {
  const Instance& instance = indices.instances[static_cast<size_t>(root)];
  const Statement& statement = program.regions[0].statements[instance.statement];
  const Tensor& tensor = program.tensors[static_cast<size_t>(statement.result)];
  const int node =
      without_rounding(expressions, expressions.of_instance[static_cast<size_t>(root)], tensor);
  const std::optional<float> fill = expressions.nodes[static_cast<size_t>(node)].fill;
  const bool same =
      fill && (*fill == tensor.fill || (std::isnan(*fill) && std::isnan(tensor.fill)));
  return {root, node, fill && !same};
}

LoweredPhase lower_phase(const PhaseContext& context, const std::vector<PhaseRoot>& roots,
                         const PhaseNames& names) {
  return PhaseLowering(context, names).run(roots);
}

const BufferPlans& LoweredPhase::plans() {
  if (!plans_) {
    plans_ = plan_buffers(plain.graph);
    for (BufferPlan* plan : {&plans_->early, &plans_->late}) {
      for (auto& [at, need] : plan->needs) need.awaited = {};  // (as large as the phase, each)
    }
  }
  return *plans_;
}

bool LoweredPhase::may_start_late() {
  return plans().late_takes_no_more;
}

bool LoweredPhase::needs_buffers(bool late) {
  return !(late ? plans().late : plans().early).needs.empty();
}

const LoweredPhase::Nodes& LoweredPhase::with_buffers(bool late) {
  const BufferPlan& plan = late ? plans().late : plans().early;
  if (plan.needs.empty() && plan.ahead.empty()) return plain;
  std::optional<Nodes>& buffered = buffered_[late ? 1 : 0];
  if (!buffered) {
    buffered = plain;
    insert_buffers(buffered->graph, buffered->origins, plan);
  }
  return *buffered;
}

}  // namespace fuseflow
