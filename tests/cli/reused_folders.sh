#!/bin/sh
# --force into a folder of an earlier run: afterwards it holds this run's files, foreign files, and nothing else.
. "$(dirname "$0")/lib.sh"
make_tables
fit() { "$KRONORM" fit -c people.csv -y thickness.csv -q "$@"; }
fit -o first.safetensors
fit -o second.safetensors --seed 5
S="score first.safetensors -c people.csv -y thickness.csv -q"
names() { find "$1" -type f ! -name '.*' -printf '%P\n' | sort | tr '\n' ' '; }
TABLES="abnormality.json abnormality.tsv metrics.json metrics.tsv scored_participants.json scored_participants.tsv"

"$KRONORM" $S --write z,yhat,ys2 -o scored
echo mine >scored/notes.txt
works "a second run with fewer maps and participants" $S --where 'age<50' --write z -o scored --force
check "... leaves no map of the first" test "$(names scored)" = "$(echo "$TABLES notes.txt summary.json z.csv z.json " | tr ' ' '\n' | sort | tr '\n' ' ' | sed 's/^ //')"
check "... nor touches another file" test "$(cat scored/notes.txt)" = mine
check "... and lists its own" grep -q '"z.csv"' scored/summary.json
check "... but no other" sh -c "! grep -q yhat.csv scored/summary.json"

works "predict into the folder of scores" predict first.safetensors -c people.csv -o scored --force -q
check "... leaves no scores of another run" test "$(names scored)" = \
    "notes.txt scored_participants.json scored_participants.tsv yhat.csv yhat.json ys2_model.csv ys2_model.json ys2_noise.csv ys2_noise.json "

# single participants, then another selection of maps and participants, then none
"$KRONORM" $S --write z,yhat --split -o single
works "one file per participant, fewer maps" $S --where 'age<50' --write z --split -o single --force
check "... leaves no map of the first" sh -c "! ls single | grep -q yhat"
check "... and as many files as participants" sh -c "test \$(ls single | grep -c _z.csv) -eq \$(awk -F, 'NR > 1 && \$2 < 50' people.csv | wc -l)"
works "then all in one file" $S --write z -o single --force
check "... leaves none of them" sh -c "! ls single | grep -q _z.csv"

# a list that leads out of the folder is not followed
cp people.csv outside.csv
sed 's|"z.csv"|"../outside.csv", "z.csv"|' single/summary.json >edited
cat edited >single/summary.json
works "a list that was edited" $S --write yhat -o single --force
check "... removes nothing outside" test -f outside.csv

# cv with sites and adapted models, then without; and a folder of another command
awk -F, -v OFS=, 'NR > 1 && NR % 3 == 0 { $4 = "C" } 1' people.csv >three.csv
"$KRONORM" cv -c three.csv -y thickness.csv --leave-out site --controls 5 -o crossed -q
check "cv leaves out sites and adapts" test -e crossed/metrics_by_site.tsv -a -e crossed/adapted/summary.json
works "cv again without sites" cv -c people.csv -y thickness.csv --use age,sex --folds 3 -o crossed --force -q
check "... has no table by site and no adapted folder" test ! -e crossed/metrics_by_site.tsv -a ! -e crossed/adapted
check "... its summary names folds.tsv" grep -q '"folds.tsv"' crossed/summary.json
works "score into it" $S -o crossed --force
check "... leaves no folds" test ! -e crossed/folds.tsv

# killed between two renames: the folder says so
if strace -f -qq -o /dev/null -e trace=rename -e inject=rename:signal=KILL:when=2 true 2>/dev/null; then
    "$KRONORM" $S -o torn
    strace -f -qq -o /dev/null -e trace=rename -e inject=rename:signal=KILL:when=2 \
        "$KRONORM" score second.safetensors -c people.csv -y thickness.csv -o torn -q --force >"$logs/out" 2>&1
    refused "a run that was killed between two renames" \
        "torn has no summary.json; either the run did not finish (run it again), or the folder is not from score, cv or change" \
        report first.safetensors --scored torn -o torn.html
else
    skip "a run that was killed between two renames" "strace cannot stop calls here"
fi

# ---- inputs and links
printf 's01\ns02\ns03\ns04\ns05\ns06\ns07\ns08\ns09\ns10\ns11\ns12\n' >list.txt
cp list.txt keep.txt
ln list.txt listed.safetensors
refused "a model on top of the list of --where" \
    "listed.safetensors is an input of this run, so it is not replaced; choose another output" \
    fit -c people.csv -y thickness.csv --where 'participant_id in @list.txt' -o listed.safetensors --force
check "... which is as it was" cmp list.txt keep.txt
ln -s nowhere link.safetensors
refused "a link to nothing, before the fit" "link.safetensors already exists; use --force to replace it" \
    fit -c people.csv -y thickness.csv -o link.safetensors --max-seconds 0.0001
works "--force replaces the link" fit -c people.csv -y thickness.csv -o link.safetensors --force -q
check "... by a file" test ! -L link.safetensors -a -f link.safetensors
done_testing
