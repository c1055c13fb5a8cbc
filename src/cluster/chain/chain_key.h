// Keys of chains and their forms (common/key.h), for what was searched and measured before.
#pragma once

#include "cluster/chain/chain.h"
#include "cluster/chain/form.h"
#include "cluster/common/key.h"

namespace fuseflow::cluster {

/// What a search of plans depends on: of the chain all but its name.
Key search_key(const Chain& chain, const Machine& machine, const Effort& effort);
void add_form(Key& key, const ChainForm& form);

}  // namespace fuseflow::cluster
