#!/usr/bin/env bash
# How does the paper's method do on the HIV data? (docs/faq.md, last question; docs/reproduction.md)
# usage: 08-the-papers-method-on-hiv.sh OUT TRIALS        with the data in the folder $GRIP2_DATA, else they are downloaded
set -euo pipefail
out=$1 trials=$2 # the paper has 50

grip2 experiment run hiv --methods grip2,lapa,lcd --trials "$trials" --jobs 1 --out "$out"
grip2 experiment report "$out"
sed -n '/^## Averages/,/^## [A-Z]*,/p' "$out/report.md" # power and realised FDR beside the paper's
