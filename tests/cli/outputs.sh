#!/bin/sh
# Outputs appear whole or not at all, never over another file unasked, never over an input.
. "$(dirname "$0")/lib.sh"
make_tables
make_images
list=study/train_images.txt people=study/train_participants.tsv

works "fit writes a model" fit -c $people -y $list -o model.safetensors
check "... and its log, and nothing else" test "$(ls -A | grep -c '^model')" -eq 2
refused "an existing model is kept" "model.safetensors already exists; use --force to replace it" \
    fit -c $people -y $list -o model.safetensors
works "--force replaces it" fit -c $people -y $list -o model.safetensors --force -q
: >lone.safetensors.log.json
refused "an existing log is kept" "lone.safetensors.log.json already exists; use --force to replace it" \
    fit -c $people -y $list -o lone.safetensors
S="score model.safetensors -c study/test_participants.tsv -y study/test_images.txt"
works "score makes its folder" $S -o scored -q
check "... with eight files" test "$(ls -A scored | tr '\n' ' ')" = \
    "abnormality.json abnormality.tsv metrics.json metrics.tsv metrics_MSLL.nii.gz metrics_R2.nii.gz metrics_z2.nii.gz scored_participants.json scored_participants.tsv summary.json z.nii.gz "
refused "an existing map is kept" "scored/z.nii.gz already exists; use --force to replace it" $S -o scored
mkdir half
: >half/summary.json
refused "an existing table is kept" "half/summary.json already exists; use --force to replace it" $S -o half
works "--force replaces them" $S -o scored --force -q
mkdir ready
works "an empty folder will do" $S -o ready -q
refused "a folder in a folder that is not there" \
    "no/such cannot be created: no such file or directory" $S -o no/such
refused "a model in a folder that is not there" \
    "no/m.safetensors cannot be written: no such file or directory" \
    fit -c $people -y $list -o no/m.safetensors
refused "a model in the place of a folder" "study is a folder; give the name of a file" \
    fit -c $people -y $list -o study
refused "simulate keeps a folder that is not empty" "study is not empty; use --force to write there" \
    simulate -o study

# the names below a regular file cannot be written by any user, root included
refused "an unwritable place for a model" \
    "people.csv/m.safetensors cannot be written: not a directory" \
    fit -c $people -y $list -o people.csv/m.safetensors
cp people.csv occupied
refused "an unwritable place for maps" "occupied/z.nii.gz cannot be written: not a directory" \
    $S -o occupied
refused "an unwritable place for a folder" "people.csv/out cannot be created: not a directory" \
    $S -o people.csv/out
refused "an unwritable place for a study" "people.csv/out cannot be created: not a directory" \
    simulate -o people.csv/out
promise="an unwritable folder"
if [ "$(id -u)" -eq 0 ]; then
    skip "$promise" "root may write anywhere"
else
    mkdir locked
    chmod a-w locked
    refused "$promise" "locked/m.safetensors cannot be written: permission denied" \
        fit -c $people -y $list -o locked/m.safetensors
fi

cp people.csv keep.csv
ln people.csv people
ln thickness.csv thickness
ln study/mask.nii.gz mask
refused "a model on top of the covariates" "people is an input of this run, so it is not replaced; choose another output" \
    fit -c people.csv -y thickness.csv -o people --force
refused "a model on top of the responses" "./thickness is an input of this run, so it is not replaced; choose another output" \
    fit -c people.csv -y thickness.csv -o ./thickness --force
refused "a model on top of the mask" "mask is an input of this run, so it is not replaced; choose another output" \
    fit -c $people -y $list -m study/mask.nii.gz -o mask --force
ln "study/$(tail -n 1 $list | cut -f 2)" image
refused "a model on top of an image of the list" "image is an input of this run, so it is not replaced; choose another output" \
    fit -c $people -y $list -o image --force
rm people thickness mask image
misused "a model called m.nii" " fit: --output is 'm.nii', but must be a model file (.safetensors) (see 'kronorm fit --help')" \
    fit -c people.csv -y thickness.csv -o m.nii
for name in m.nii.gz people.csv new.tsv; do
    misused "a model called $name" " fit: --output is '$name', but must be a model file (.safetensors) (see 'kronorm fit --help')" \
        fit -c people.csv -y thickness.csv -o $name --force
done
misused "a folder called z.nii.gz" " score: --output is 'z.nii.gz', but must be a folder (see 'kronorm score --help')" $S -o z.nii.gz
misused "a report called report.csv" " report: --output is 'report.csv', but must be an HTML file (see 'kronorm report --help')" \
    report model.safetensors -o report.csv
misused "a shareable model called s.csv" " export: --output is 's.csv', but must be a model file (.safetensors) (see 'kronorm export --help')" \
    export model.safetensors -o s.csv
mkdir inside
cp thickness.csv inside/z.csv
"$KRONORM" fit -c people.csv -y thickness.csv -o table.safetensors -q
refused "maps on top of the responses" "inside/z.csv is an input of this run, so it is not replaced; choose another output" \
    score table.safetensors -c people.csv -y inside/z.csv -o inside --force
check "the inputs are as they were" cmp people.csv keep.csv

# A file size limit stands in for a disk that is full: the same path in the program.
limited() { # promise, blocks of 512 bytes, the file that does not fit, arguments ...
    promise=$1 blocks=$2 file=$3
    shift 3
    tree >"$logs/before"
    (ulimit -f "$blocks" && exec "$KRONORM" "$@" -q) >"$logs/out" 2>"$logs/err"
    code=$?
    tree >"$logs/after"
    if [ $code -eq 1 ] && cmp -s "$logs/before" "$logs/after" &&
        [ "$(cat "$logs/err")" = "kronorm: $file cannot be written: file too large" ]; then
        ok "$promise"
    else
        not_ok "$promise" "$(diff "$logs/before" "$logs/after")"
    fi
}
limited "no room for the model" 40 m.safetensors fit -c $people -y $list -o m.safetensors
limited "no room for the maps: no folder either" 40 out/z.nii.gz $S -o out
limited "no room for the metrics: the maps go too" 300 out/metrics.tsv $S -o out
limited "no room in a folder that was there" 40 ready/yhat.nii.gz $S -o ready --write yhat --force
promise="a full disk"
mkdir disk
if mount -t tmpfs -o size=64k tmpfs disk 2>/dev/null; then
    trap 'umount "$work/disk"; rm -rf "$work" "$logs"' EXIT
    refused "$promise: fit" "disk/m.safetensors cannot be written: no space left on device" \
        fit -c $people -y $list -o disk/m.safetensors
    refused "$promise: score" "disk/out/z.nii.gz cannot be written: no space left on device" \
        $S -o disk/out
    kronorm simulate -o disk/study -q
    check "$promise: simulate" test $code -eq 1 -a "$(wc -l <"$logs/err")" -eq 1 -a -z "$(ls -A disk)"
else
    skip "$promise" "mounting a small one needs root"
fi

if [ -w /dev/full ]; then
    full="kronorm: standard output cannot be written: no space left on device"
    for command in "info model.safetensors" "info model.safetensors --json" "info --build" "help" "fit --help" \
        "--version" "help --options-md" "score --man" "$S -o full"; do
        code=0
        "$KRONORM" $command >/dev/full 2>"$logs/err" || code=$?
        check "stdout on a full disk: $command" [ $code -eq 1 ] && [ "$(tail -n 1 "$logs/err")" = "$full" ] ||
            not_ok "its sentence" "$(cat "$logs/err")"
    done
else
    skip "stdout on a full disk" "there is no /dev/full"
fi

# killed while it writes: what there is by then has hidden names, and the next run is not hindered
tries=0 visible=0
while [ $tries -lt 20 ]; do
    tries=$((tries + 1))
    rm -rf killed
    "$KRONORM" $S -o killed --write z,yhat,ys2_model -q &
    run=$!
    while kill -0 $run 2>/dev/null && [ -z "$(ls -A killed 2>/dev/null)" ]; do :; done
    kill -9 $run 2>/dev/null
    wait $run 2>/dev/null && continue # it was faster
    [ -n "$(ls -A killed)" ] || continue
    visible=$(find killed -type f ! -name '.*' | wc -l)
    break
done
check "kill -9 came while files were written" [ $tries -lt 20 ]
check "... and left hidden files only" [ "$visible" -eq 0 ]
works "... which are no obstacle" $S -o killed --write z -q

works "--quiet prints no result: fit" fit -c $people -y $list -o quiet.safetensors --quiet
check "... on stdout" test ! -s "$logs/out"
check "... and warnings alone on stderr" sh -c '! grep -v "^kronorm fit: warning: " "$0" && grep -q "do not improve prediction" "$0"' "$logs/err"
for where in "info quiet.safetensors" "report quiet.safetensors --json"; do
    works "the model keeps its warnings: $where" $where
    check "... they are shown" grep -q "there are only 19 reference participants\|Limited p-value resolution" "$logs/out"
done
check "the log has them too" grep -q "there are only 19 reference participants" quiet.safetensors.log.json
check "... with the command, without folders, and hashes" sh -c 'grep -q "\"command\": \"kronorm fit --covariates train_participants.tsv --responses train_images.txt\"" "$0" && grep -q "\"responses\": \"xxh64:[0-9a-f]*\"" "$0"' quiet.safetensors.log.json
works "--quiet prints nothing: score" $S -o quiet --quiet
check "... on stdout or stderr, either" test ! -s "$logs/out" -a ! -s "$logs/err"
works "--verbose tells more" fit -c $people -y $list -o verbose.safetensors --verbose
check "... on stderr" grep -q '19 images of [0-9]* voxels' "$logs/err"
check "a log has no escape codes" sh -c "! grep -q '$(printf '\033')' $logs/err"
done_testing
