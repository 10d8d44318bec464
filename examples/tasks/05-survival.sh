#!/usr/bin/env bash
# Which features does survival depend on? (docs/tables.md "Responses")
# usage: 05-survival.sh TABLE.csv TIME EVENT OUT        EVENT is 1 where the event was seen; EVENT=2 if 2 means that
set -euo pipefail
table=$1 time=$2 event=$3 out=$4

grip2 select "$table" --target "$time" --event "$event" --fdr 0.2 --statistic effects --out "$out"
