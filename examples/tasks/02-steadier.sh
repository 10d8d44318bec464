#!/usr/bin/env bash
# My list changes with the seed: make it steadier. (docs/faq.md "Seeds disagree", docs/copies-and-groups.md "Draws")
# usage: 02-steadier.sh TABLE.csv TARGET OUT
set -euo pipefail
table=$1 target=$2 out=$3
options=(--target "$target" --fdr 0.2 --statistic effects)

for seed in 0 1; do
  grip2 select "$table" "${options[@]}" --seed $seed --out "$out/one-draw-seed-$seed"
  grip2 select "$table" "${options[@]}" --seed $seed --draws 10 --out "$out/ten-draws-seed-$seed"
done
grip2 compare "$out"/one-draw-seed-{0,1}
grip2 compare "$out"/ten-draws-seed-{0,1} # "Jaccard" near 1: the seed hardly matters any more
