#!/usr/bin/env bash
# Which features of this CSV matter, and how sure can I be? (docs/start.md, docs/worked-example.md)
# usage: 01-which-features.sh TABLE.csv TARGET OUT
set -euo pipefail
table=$1 target=$2 out=$3

grip2 columns "$table" --target "$target"                    # what is every column taken for?
grip2 select "$table" --target "$target" --fdr 0.2 --out "$out" # the answer, and the verdict on the knockoffs
echo "How sure: q-value is the smallest rate at which a feature would be selected"
cut -d, -f1-4 "$out/selection.csv"
