#!/bin/sh
# Which folders a page is made of, and which it refuses.
. "$(dirname "$0")/lib.sh"

awk 'function u() { x = (x * 16807) % 2147483647; return x / 2147483647 }
    function n(  k, s) { s = 0; for (k = 0; k < 12; k++) s += u(); return s - 6 }
    BEGIN {
        x = 7
        print "participant_id,age,sex,r1,r2,r3" >"train.csv"
        print "participant_id,age,sex,r1,r2,r3" >"new.csv"
        for (i = 1; i <= 46; i++) {
            age = 20 + int(500 * u()) / 10
            printf("s%02d,%.1f,%s,%.4f,%.4f,%.4f\n", i, age, i % 2 ? "F" : "M", age / 20 + n(), n(), 3 + n()) \
                >(i <= 40 ? "train.csv" : "new.csv")
        }
    }' </dev/null
works "fit" fit -c train.csv -y train.csv --use age,sex --components 1 -o model.safetensors
works "fit another" fit -c train.csv -y train.csv --use age,sex --components 2 -o other.safetensors
works "score" score model.safetensors -c new.csv -y new.csv -o scored
works "cv" cv -c train.csv -y train.csv --use age,sex --folds 3 -o crossed
works "centiles" centiles model.safetensors --over age -o curves

refused() { # promise, exit code, sentence, model, folder ...
    promise=$1 expected=$2 sentence=$3
    shift 3
    fails "$promise" "$expected" "kronorm: $sentence" report "$@" -o report.html
}
hash() { sed -n 's/.*"model": "\(xxh64:[0-9a-f]*\)".*/\1/p' "$1"; }
works "score by the other" score other.safetensors -c new.csv -y new.csv -o by_other
refused "a folder of another model" 1 \
    "scored was made with another model ($(hash scored/summary.json), this one is $(hash by_other/summary.json)); give that model, or run the command again with this one" \
    other.safetensors --scored scored
refused "a folder of cv beside a model" 2 \
    "crossed was written by cv, which has no single model; give the folder alone" model.safetensors --scored crossed
refused "a folder of score alone" 2 "scored was written by score; also name the model that it was made with" scored
refused "a folder that is not there" 1 "nowhere: this folder does not exist; give a folder that score, cv or change wrote" \
    model.safetensors --scored nowhere
mkdir empty
refused "a folder without a summary" 1 "empty has no summary.json; either the run did not finish (run it again), or the folder is not from score, cv or change" \
    model.safetensors --scored empty
refused "a folder of centiles" 1 \
    "curves: summary.json was written by another command; give a folder that score, cv or change wrote" model.safetensors --scored curves

mkdir old
echo '{"pairs": 3, "changed": {"with_p": 3}}' >old/summary.json
refused "changes whose summary does not name the model" 1 \
    "old: summary.json does not name the model; run change again" \
    model.safetensors --scored old
for d in cut other fewer named; do cp -r scored $d; done
sed -i '$d' cut/abnormality.tsv
refused "a table that was cut" 1 "cut/abnormality.tsv has 5 rows, but scored_participants.tsv has 6; the files of this folder are from different runs, so run the command again" model.safetensors --scored cut
sed -i '2s/^s41/nobody/' other/abnormality.tsv
refused "a table of somebody else" 1 \
    "other/abnormality.tsv line 2: participant_id is 'nobody', but 's41' in scored_participants.tsv; the files of this folder are from different runs, so run the command again" model.safetensors --scored other
sed -i '$d' fewer/metrics.tsv
refused "metrics of fewer responses" 1 "fewer/metrics.tsv has 2 rows, but there are 3 responses; the files of this folder are from different runs, so run the command again" model.safetensors --scored fewer
sed -i '2s/^r1/r9/' named/metrics.tsv
refused "metrics of others" 1 "named/metrics.tsv line 2: response is 'r9', but 'r1' in the model" \
    model.safetensors --scored named

works "a folder of score" report model.safetensors --scored scored -o report.html
works "a folder of cv alone" report crossed -o crossed.html
works "a model alone" report model.safetensors -o model.html
check "the folder is as it was" test "$(ls scored | tr '\n' ' ')" = "$(ls cut | tr '\n' ' ')"
done_testing
