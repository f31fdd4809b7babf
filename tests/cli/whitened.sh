#!/bin/sh
# Whitened noise by the command: fit, score, cv, missing cells, sites, what auto says, what is refused.
. "$(dirname "$0")/lib.sh"

# 60 participants of three sites, 14 responses of which each has noise of another size.
awk 'function mean(age, s, j) { return 50 + 0.03 * age * (j % 3) + 0.7 * s }
function noise() { return rand() + rand() + rand() - 1.5 }
BEGIN {
    srand(5); print "participant_id,age,sex,site" >"people.csv"
    printf "participant_id" >"brains.csv"
    for (j = 1; j <= 14; j++) printf ",r%d", j >"brains.csv"
    print "" >"brains.csv"
    for (i = 1; i <= 60; i++) {
        age = 20 + 60 * rand(); s = i % 3; shared = rand() + rand() + rand() - 1.5
        printf "s%02d,%.2f,%s,%s\n", i, age, i % 2 ? "F" : "M", substr("ABC", s + 1, 1) >"people.csv"
        line = sprintf("s%02d", i)
        for (j = 1; j <= 14; j++)
            line = line sprintf(",%.5f", mean(age, s, j) + 4 * shared * (j % 4) + (0.2 + j % 7) * noise())
        print line >"brains.csv"
    }
}'
awk -F , 'NR > 1 && NR % 7 == 0 { $3 = "" } NR > 1 && NR % 11 == 0 { $9 = "" } { line = $1; for (i = 2; i <= NF; i++) line = line "," $i; print line }' \
    brains.csv >holes.csv
data="-c people.csv -y brains.csv --use age,sex,site"

works "a fit" fit $data --noise whitened -P 2 -o model
works "info" info model
check "... says which noise" grep -q 'method smtgpr, noise whitened' "$logs/out"
works "the same again" fit $data --noise whitened -P 2 -o again
check "... has the same bytes" cmp -s model again
works "a scoring" score model -c people.csv -y brains.csv --training-rows plain -o scored
sed 's/,A$/,D/' people.csv >elsewhere.csv
works "adapting" adapt model -c elsewhere.csv -y brains.csv --match common --where site=D -o adapted
works "centiles" centiles model --over age -o centiles
works "held out" cv $data --noise whitened -P 2 --folds 3 -o cv
works "missing cells" fit -c people.csv -y holes.csv --use age,sex,site --noise whitened -P 2 -o filled
works "... scored" score filled -c people.csv -y holes.csv -o scored_filled
works "the number of components by itself" fit $data --noise whitened -o chosen
works "auto" fit $data --noise auto -P 2 --folds 5 -o auto
check "... says which, with both numbers" grep -q \
    '^noise: .*; the mean log density of held-out maps is .* with structured and .* with whitened noise' "$logs/err"
works "... and keeps them" info auto --json
check "... in the model" grep -q '"noise_choice"' "$logs/out"

misused "auto without folds" " fit: --noise auto needs held-out participants, but --folds 0 holds none out (see 'kronorm fit --help')" \
    fit $data --noise auto --folds 0 -o none
misused "as many components as leave nothing" \
    ": --components is 14, but with whitened noise 10 participants with 14 responses allow at most 8, because some variance must remain for the noise" \
    fit -c people.csv -y brains.csv --use age,sex --match common --where 'participant_id in s01|s02|s03|s04|s05|s06|s07|s08|s09|s10' --noise whitened -P 14 -o none
misused "more components than responses" \
    ': --components is 15, but with whitened noise 60 participants with 14 responses allow at most 14' \
    fit $data --noise whitened -P 15 -o none
misused "MT-Kronprod" " fit: --method kronprod has iso noise, so --noise whitened does not apply (see 'kronorm fit --help')" \
    fit $data --method kronprod --noise whitened -o none
done_testing
