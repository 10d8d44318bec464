#!/usr/bin/env bash
# Select my groups of columns as wholes. (docs/copies-and-groups.md "Groups", docs/worked-example.md, last part of 7)
# usage: 04-my-groups.sh TABLE.csv TARGET OUT GROUP COLUMN COLUMN...
set -euo pipefail
table=$1 target=$2 out=$3 group=$4
shift 4

mkdir -p "$out"
{ echo "column,group"; printf "%s,$group\n" "$@"; } > "$out/groups.csv" # columns that are not named stay single
grip2 select "$table" --target "$target" --groups "$out/groups.csv" --fdr 0.2 --statistic effects --out "$out/groups"
