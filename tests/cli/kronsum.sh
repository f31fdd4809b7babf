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
    works "$promise" fit -c study/train_participants.tsv -y study/train_regions.csv --method kronsum -o "$model" "$@"
}
fit_regions "kronsum fits regions" a.safetensors --seed 3
check "... and says what it will take" said "two full covariances of 8 responses"
check "... and how the shrinkage was chosen" said "shrinkage inf: mean log density of held-out maps"
check "... and info says which it is" shows a.safetensors "^  covariances of signal and noise: "
fit_regions "no time to judge a shrinkage" late.safetensors --max-seconds 0.000001
check "... is not taken for what the data say" said "ended the search for free covariances too early"
fit_regions "the same again" b.safetensors --seed 3
check "... is the same bytes" same a.safetensors b.safetensors
fit_regions "a shrinkage that is given" given.safetensors --shrinkage 300
fit_regions "no shrinkage" free.safetensors --shrinkage 0
fit_regions "nothing but shrinkage" inf.safetensors --shrinkage inf
for model in a free inf; do
    works "scores by $model" score $model.safetensors -c study/test_participants.tsv -y study/test_regions.csv -o scored_$model
done
works "predicts" predict a.safetensors -c study/test_participants.tsv -o predicted

# ---- what it refuses
head -9 study/train_participants.tsv >few_x.tsv
head -9 study/train_regions.csv >few_y.csv
misused "as many responses as samples" \
    ": --method kronsum fits two full 8 x 8 covariances, and 8 responses of 8 participants are too many; use fewer responses than participants (at most 1500), the default method or --basis" \
    fit -c few_x.tsv -y few_y.csv --use age --method kronsum -o few.safetensors
misused "and that before it speaks of memory" \
    ": --method kronsum fits two full 8 x 8 covariances, and 8 responses of 8 participants are too many; use fewer responses than participants (at most 1500), the default method or --basis" \
    fit -c few_x.tsv -y few_y.csv --use age --method kronsum --memory 1M -o few.safetensors
misused "components with kronsum" \
    " fit: --method kronsum has full covariances of signal and noise and no basis, so --components does not apply (see 'kronorm fit --help')" \
    fit -c study/train_participants.tsv -y study/train_regions.csv --method kronsum -P 3 -o few.safetensors
misused "a shrinkage that is none" \
    " fit: --shrinkage is '-7', but must be auto, inf or a number from 0 (see 'kronorm fit --help')" \
    fit -c study/train_participants.tsv -y study/train_regions.csv --method kronsum --shrinkage -7 -o few.safetensors

# ---- rows that share noise
works "visits of people" fit -c visits.csv -y visits.csv --targets a,b,c,d --use age,sex --method kronsum -o groups.safetensors
check "... are groups in info" shows groups.safetensors "^  groups: 30 groups of repeated measures in 60 rows, by repeated IDs; .*% of the noise"
works "scored within their groups" score groups.safetensors -c visits.csv -y visits.csv --known-groups \
    --training-rows plain -o known

# three visits per participant, the third to be scored; levels make columns of R0 that others tell
awk 'function u() { x = (x * 16807) % 2147483647; return x / 2147483647 }
    function n() { return u() + u() + u() + u() - 2 }
    BEGIN {
        x = 11
        for (f = 1; f <= 2; f++) print "participant_id,age,sex,site,a,b,c,d,e,f" >(f == 1 ? "two.csv" : "third.csv")
        for (i = 1; i <= 80; i++) {
            age = 20 + int(500 * u()) / 10; sex = i % 2 ? "F" : "M"
            for (j = 1; j <= 6; j++) own[j] = n()
            for (v = 0; v < 3; v++) {
                line = sprintf("s%02d,%.1f,%s,%s", i, age + v, sex, substr("ABCD", i % 4 + 1, 1))
                for (j = 1; j <= 6; j++) line = line sprintf(",%.4f", 3 - 0.01 * j * (age + v) + 0.3 * own[j] + 0.05 * n())
                print line >(v < 2 ? "two.csv" : "third.csv")
            }
        }
    }'
V="--use age,sex,site --targets a,b,c,d,e,f --threads 1"
works "visits at sites" fit -c two.csv -y two.csv $V --method kronsum --shrinkage 300 -o two.safetensors
check "... nothing is illegal" sh -c "! grep -q 'illegal value' '$logs/err' '$logs/out'"
works "a third visit by the first two" score two.safetensors -c third.csv -y third.csv --known-groups --training-rows plain -o third
check "... whose z are no smaller than they should be" sh -c "awk '/\"z2\"/ { sub(/,/, \"\"); if (\$2 > 0.5 && \$2 < 1.5) found = 1 } END { exit !found }' third/summary.json"
works "a model that keeps groups whole, and no more" fit -c two.csv -y two.csv $V --method mtgpr -P 2 -o whole.safetensors
check "... says so" said "this model has no noise shared within groups; groups only stay whole in folds"
check "... again in info" shows whole.safetensors "^  groups: kept together in folds; the model has no noise that their rows share"
misused "known groups of it" \
    ": --known-groups cannot be used, because whole.safetensors has no noise shared within groups" \
    score whole.safetensors -c third.csv -y third.csv --known-groups -o never
done_testing
