#!/bin/sh
# Model files of format version 1 load for ever, and give the z they gave when they were made.
. "$(dirname "$0")/lib.sh"
golden=$here/../golden/model

close() { # file, file: tables of the same texts, and numbers within 1e-6
    awk -F '[,\t]' '
        FNR == NR { line[FNR] = $0; n = FNR; next }
        { m = split(line[FNR], was, /[,\t]/)
          if (m != NF) { bad = 1; exit 1 }
          for (i = 1; i <= NF; i++) {
              d = $i - was[i]
              same = FNR == 1 || i == 1 ? $i "" == was[i] "" : d * d <= 1e-12 * (1 + $i * $i)
              if (!same) { print FNR, i, was[i], $i; bad = 1; exit 1 } } }
        END { exit bad || FNR != n }' "$1" "$2"
}
for m in structured iso stgpr kronprod; do
    works "the $m model loads" info "$golden/$m.safetensors" --json
    check "... as format version 1" grep -q '"format_version": 1,' "$logs/out"
    works "... and scores" score "$golden/$m.safetensors" -c "$golden/new.csv" -y "$golden/new.csv" \
        --write z,yhat,ys2_model -o $m
    for map in z yhat ys2_model; do
        check "... to the $map it gave" close "$golden/$m.$map.csv" $m/$map.csv
    done
    cut -f 1-3,6,8,10 $m/abnormality.tsv >$m.tsv
    check "... and the abnormality" close "$golden/$m.abnormality.tsv" $m.tsv
    works "... and knows its training ids" score "$golden/$m.safetensors" -c "$golden/train.csv" \
        -y "$golden/train.csv" -o $m.train
    check "... all twelve" test "$(column $m.train/abnormality.tsv in_training | grep -c 1)" -eq 12
done
awk -F, -v OFS=, 'NR > 1 { $2 += 1e-4 } 1' iso/z.csv >other.csv
if close "$golden/iso.z.csv" other.csv >/dev/null; then
    not_ok "the comparison sees a difference of 1e-4" "it does not"
else
    ok "the comparison sees a difference of 1e-4"
fi
done_testing
