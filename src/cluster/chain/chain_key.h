// Keys of chains and their forms (common/key.h), for what was searched and measured before.
#pragma once

#include "cluster/chain/chain.h"
#include "cluster/chain/form.h"
#include "cluster/common/key.h"

namespace fuseflow::cluster {

/// All but its name.
void add_chain(Key& key, const Chain& chain);
void add_form(Key& key, const ChainForm& form);

}  // namespace fuseflow::cluster
