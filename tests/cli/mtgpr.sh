#!/bin/sh
# MTGPR and the low-rank Kronecker sum by the command: fits, scores, warnings, refusals.
. "$(dirname "$0")/lib.sh"
export OPENBLAS_NUM_THREADS=1

awk 'BEGIN {
    srand(3)
    print "participant_id,age,site" >"people.csv"
    head = "participant_id"
    for (j = 1; j <= 12; j++) head = head ",r" j
    print head >"y.csv"
    for (i = 1; i <= 80; i++) {
        age = 20 + int(600 * rand()) / 10
        print "s" i "," age "," (i % 2 ? "A" : "B") >"people.csv"
        f = rand() + rand() + rand() - 1.5
        line = "s" i
        for (j = 1; j <= 12; j++)
            line = line "," 3 + (age - 50) / 30 * (j % 4) + f * (j % 3) + rand()
        print line >"y.csv"
    }
}'
{ head -1 y.csv; tail -20 y.csv; } >new_y.csv
{ head -1 people.csv; tail -20 people.csv; } >new.csv
F="fit -c people.csv -y y.csv --method mtgpr --folds 4 --threads 1"

works "a task covariance of rank 3" $F -P 3 -o m.safetensors
check "... warns" grep -q 'without structured noise, noise shared between responses counts as signal' "$logs/err"
works "... scores" score m.safetensors -c new.csv -y new_y.csv -o m --training-rows plain
works "... again, with the same bytes" $F -P 3 -o m2.safetensors
check "..." cmp m.safetensors m2.safetensors
works "by as many components as the curve says" $F -o auto.safetensors
works "with factors of the noise" $F -P 2 --noise-rank 2 -o q.safetensors
check "... no warning" sh -c "! grep -q 'without structured noise' '$logs/err'"
works "... says what it is" info q.safetensors
check "..." grep -qx "  task covariance: of rank 2; noise of each response's own, and 2 factors that responses share" "$logs/out"
check "... not what it has not" sh -c "! grep -q 'noise structured' '$logs/out'"
works "... scores" score q.safetensors -c new.csv -y new_y.csv -o q --training-rows plain
works "with an iso term" $F -P 2 --sample-kernel additive+iso -o iso.safetensors
check "... no warning" sh -c "! grep -q 'without structured noise' '$logs/err'"
works "... of other terms" $F -P 2 --sample-kernel linear+se+iso -o iso2.safetensors
works "with a term of PPCA" $F -P 2 --ppca -o ppca.safetensors
works "... scores" score ppca.safetensors -c new.csv -y new_y.csv -o ppca --training-rows plain
works "with all of it, by few pivots" $F -P 2 --ppca --noise-rank 1 --sample-kernel linear+se+iso --rank 8 -o all.safetensors
works "... scores" score all.safetensors -c new.csv -y new_y.csv -o all --training-rows plain
works "without folds" $F -P 2 --folds 0 -o none.safetensors
works "curves" centiles m.safetensors --over age -o curves

misused "a rank of as many as there are responses" \
    ": --method mtgpr with 12 components or noise factors needs more than 12 responses, but there are 12" \
    $F -P 12 -o bad.safetensors
misused "more factors of the noise than responses" \
    ": --method mtgpr with 13 components or noise factors needs more than 13 responses, but there are 12" \
    $F -P 2 --noise-rank 13 -o bad.safetensors
misused "as many as samples" \
    ": --method mtgpr with 9 components or noise factors needs more than 9 participants, but there are 8" \
    $F -P 2 --noise-rank 9 --use age --match common --where 'participant_id in s1|s2|s3|s4|s5|s6|s7|s8' -o bad.safetensors
misused "factors of the noise of another method" ": smtgpr does not use --noise-rank: only mtgpr has it" \
    fit -c people.csv -y y.csv --noise-rank 2 -o bad.safetensors
misused "more than 200" \
    ": --method mtgpr estimates every loading separately, and 201 components or noise factors are too many (at most 200); use the default method" \
    $F -P 201 -o bad.safetensors

done_testing
