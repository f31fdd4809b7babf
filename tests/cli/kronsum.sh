#!/bin/sh
# MT-Kronsum: fits of a table of regions, what it refuses, groups.
. "$(dirname "$0")/lib.sh"
make_visits
said() { grep -qF -e "$1" "$logs/err"; }
shows() { # model, expression: a line of info
    kronorm info "$1"
    grep -q -e "$2" "$logs/out"
}
same() { cmp -s "$1" "$2"; }

works "a study with regions" simulate --samples 60 --patients 4 --regions 8 -o study
fit_regions() { # promise, model, options ...
    promise=$1 model=$2
    shift 2
    works "$promise" fit -c study/train_covariates.csv -y study/train_regions.csv --method kronsum -o "$model" "$@"
}
fit_regions "kronsum fits regions" a.safetensors --seed 3
check "... and says what it will take" said "two full covariances of 8 responses"
check "... and how the shrinkage was chosen" said "shrinkage inf: mean log density of held-out maps"
fit_regions "the same again" b.safetensors --seed 3
check "... is the same bytes" same a.safetensors b.safetensors
fit_regions "a shrinkage that is given" given.safetensors --shrinkage 300
fit_regions "no shrinkage" free.safetensors --shrinkage 0
fit_regions "nothing but shrinkage" inf.safetensors --shrinkage inf
for model in a free inf; do
    works "scores by $model" score $model.safetensors -c study/test_covariates.csv -y study/test_regions.csv -o scored_$model
done
works "predicts" predict a.safetensors -c study/test_covariates.csv -o predicted

# ---- what it refuses
cut -d, -f1-3 study/train_covariates.csv | head -9 >few_x.csv
head -9 study/train_regions.csv >few_y.csv
fails "as many responses as samples" 2 \
    "kronsum fits two full 8 x 8 covariances: 8 responses from 8 samples is too many (T must be below N, at most 1500); use the default, its low-rank form, or --basis" \
    fit -c few_x.csv -y few_y.csv --method kronsum --match common -o few.safetensors
fails "components with kronsum" 2 "--components" \
    fit -c study/train_covariates.csv -y study/train_regions.csv --method kronsum -P 3 -o few.safetensors
fails "a shrinkage that is none" 2 "--shrinkage is '-7', expected auto, inf or a number from 0" \
    fit -c study/train_covariates.csv -y study/train_regions.csv --method kronsum --shrinkage -7 -o few.safetensors

# ---- rows that share noise
works "visits of people" fit -c visits.csv -y visits.csv --targets a,b,c,d --use age,sex --method kronsum -o groups.safetensors
check "... are groups in info" shows groups.safetensors "^  groups: 30 of 60 rows, by ids that repeat; .* % of the noise"
works "scored within their groups" score groups.safetensors -c visits.csv -y visits.csv --known-groups \
    --training-rows plain -o known
finish
