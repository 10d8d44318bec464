#!/usr/bin/env bash
# Do I get the same result on another machine? (docs/faq.md "Does it give the same result on another machine?")
# The report of a selection ends with its command, and selection.json has seed, settings and versions.
# usage: 07-same-result.sh TABLE.csv TARGET OUT
set -euo pipefail
table=$1 target=$2 out=$3
options=(--target "$target" --fdr 0.2 --statistic effects --seed 0)

grip2 select "$table" "${options[@]}" --out "$out/here"
grep -A 1 "gives the same selection again" "$out/here/report.html" # the command, to be run there
grep -A 7 '"versions"' "$out/here/selection.json"                  # to be installed there

grip2 select "$table" "${options[@]}" --out "$out/there"
grip2 compare "$out/here" "$out/there"
cmp "$out/here/selection.csv" "$out/there/selection.csv" && echo "the same, to the last digit"
