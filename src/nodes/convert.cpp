// convert: stores a tensor in another format. It has no streams; sim/common/run_conversion.h runs
// it.
#include "nodes/rules.h"
#include "nodes/typing.h"

namespace fuseflow {

namespace {

void type_convert(Typing& t) {
  static_cast<void>(t.counts(0, 0));
}

}  // namespace

constinit const NodeRule convert_rule = {
    .name = "convert",
    .fields = NodeFields{.tensor = true, .other_tensor = true},
    .family = NodeFamily::convert,
    .unit = UnitClass::write,
    .typing = type_convert,
    .carried = carried::none,
    .block = blocks::none,
    .check_block = blocks::no_check,
    .join = nullptr,
    .waits = waits::kInStep,
    .by_values = false,
    .holds = KeptState::nothing,
    .origins = origins::new_payloads,
    .shaping = shaping::none,
    .fiber = fiber::not_made,
    .elements = elements::of_first,
    .steps = steps::none,
    .flops = flops::none,
    .bytes = bytes::none,
    .place = place::anywhere,
    .exchange = ExchangeForm{.refused = "a conversion has no form; a const "
                                        "tensor is stored in both ways beforehand, and --region "
                                        "writes a region that needs none"},
};

}  // namespace fuseflow
