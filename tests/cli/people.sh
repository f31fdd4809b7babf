#!/bin/sh
# What score and predict tell of the people they were given: who took part, with what, and what to doubt.
. "$(dirname "$0")/lib.sh"
make_tables
(head -n 1 people.csv && tail -n 10 people.csv) >new_people.csv
(head -n 1 thickness.csv && tail -n 10 thickness.csv) >new_thickness.csv
head -n 31 people.csv >old_people.csv
head -n 31 thickness.csv >old_thickness.csv
works "fit" fit -c old_people.csv -y old_thickness.csv --use age,sex,site -o model.safetensors

# ---- metrics are of new predictions
works "training people alone" score model.safetensors -c old_people.csv -y old_thickness.csv -o old
check "... have no metrics" test "$(column old/metrics.tsv R2 | sort -u)" = n/a
check "... and are told why" grep -qF "warning: metrics are n/a: they are of new predictions, and everybody has the \
stored z of training (--training-rows plain predicts them anew, too well)" "$logs/err"
works "new people beside them" score model.safetensors -c people.csv -y thickness.csv -o both
check "... have metrics" sh -c "! grep -q 'metrics are n/a' '$logs/err' && ! cut -f 2 both/metrics.tsv | grep -q n/a"
done_testing
