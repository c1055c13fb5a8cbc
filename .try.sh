#!/bin/bash
set -e
cmake --preset ci -Wno-dev >/dev/null
ninja -C build -j1 fuseflow-cluster cluster_test | grep -v '^\[' | tail -30
cp build/bin/fuseflow-cluster /work/notes/b20/$1-cluster
cd /work/notes/b20
for w in G1 G2 G3; do
./$1-cluster --workload $w --evaluate > $1.$w
./base-cluster --workload $w --evaluate > base.$w
cut -d, -f10,12,15,18,21,23,29 base.$w  $1.$w
done
