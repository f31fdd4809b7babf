#!/bin/sh
# Every example that `kronorm COMMAND --help` prints and every command of the README runs as it is written, on a simulated
# study whose files have the names that the examples use.
. "$(dirname "$0")/lib.sh"
root=$(cd "$here/../.." && pwd)
mkdir bin && ln -s "$KRONORM" bin/kronorm
PATH=$work/bin:$PATH

# ---- a study with these names

"$KRONORM" simulate --samples 60 --patients 8 --sites 3 --visits 2 --regions 12 --seed 3 -o study -q
cd study || exit 1
first=$(sed -n 2p test_participants.tsv | cut -f 1) second=$(sed -n 3p test_participants.tsv | cut -f 1)
sed -i "s/^$first\t/sub-007\t/; s/^$second\t/sub-042\t/" test_participants.tsv test_images.txt
cp train_participants.tsv participants.tsv
cp train_images.txt images.txt
cp adapt_participants.tsv controls.tsv
cp adapt_images.txt controls.txt
cp new_participants.tsv patients.tsv
cp new_images.txt patients.txt
cp visits_participants.tsv visits.tsv
cp visits_regions.csv visits.csv
cp test_participants.tsv new_participants.tsv
sed '1s/region_\([0-9]*\)/r\1_thickness/g' train_regions.csv >thick.csv
tr '\t' , <train_participants.tsv | paste -d , - thick.csv | cut -d , -f 1-4,6- >thickness.csv
"$KRONORM" fit -c participants.tsv --use age,sex,site -y images.txt -m mask.nii.gz -o ../image.safetensors -q
"$KRONORM" fit -c participants.tsv --use age,sex,site -y train_regions.csv -o ../table.safetensors -q
"$KRONORM" score ../image.safetensors -c test_participants.tsv -y test_images.txt --cases group=patient -o ../scored -q
cd "$work" || exit 1
check "the study is there" test -e image.safetensors -a -e table.safetensors -a -e scored/abnormality.tsv

# A folder with the study; with a model of the table for examples whose responses are a table.
prepare() { # folder, model
    rm -rf "$1"
    cp -r study "$1"
    [ "$2" = none ] || cp "$2.safetensors" "$1/model.safetensors"
}

# Runs a line; what its -o names is removed before (with the log of a model), since another line may have written it.
run() { # promise, folder, line
    output=$(printf '%s\n' "$3" | sed -n 's/.* -o \([^ ]*\).*/\1/p')
    (cd "$2" && { [ -z "$output" ] || rm -rf "$output" "$output.log.json"; } && sh -c "$3") >"$logs/out" 2>"$logs/err" </dev/null
    code=$?
    check "$1: $3" test $code -eq 0 -a \( -z "$output" -o -e "$2/$output" \)
}

# ---- the examples of --help

for command in $("$KRONORM" --help | sed -n 's/^  \([a-z]*\)  .*/\1/p'); do
    "$KRONORM" "$command" --help | awk '/^Example/ { p = 1; next } p && /^$/ { exit } p' | sed 's/^  //' >lines
    check "$command has an example" test -s lines
    case $command in
    fit | cv | simulate | reproduce) prepare folder none ;;
    change) prepare folder table ;;
    *) prepare folder image ;;
    esac
    case $command in report | overlap) cp -r scored folder/scored ;; esac
    while IFS= read -r line <&3; do
        case $line in
        mpirun*) skip "$command: $line" "in tests/mpi" ;;
        *) run "$command" folder "$line" ;;
        esac
    done 3<lines
done

# ---- the README: its blocks for own data, and commands of its tables

awk '/^```bash$/ { p = 1; next } /^```/ { p = 0 } p' "$root/README.md" | sed -e ':a' -e '/\\$/N' -e 's/\\\n *//' -e 'ta' |
    grep '^kronorm ' >lines
grep -o '`kronorm [^`]* -o [^`]*`' "$root/README.md" | tr -d '`' >>lines
check "the README has commands" test "$(wc -l <lines)" -ge 5
prepare folder image
awk -F '\t' -v OFS='\t' 'NR == 1 { print $0, "group"; next } { print $0, "control" }' study/train_participants.tsv >folder/participants.tsv
sed 1d study/test_participants.tsv >>folder/participants.tsv
cp -r scored folder/scored
cat study/train_images.txt study/test_images.txt | while IFS="$(printf '\t')" read -r id path; do
    mkdir -p "folder/derivatives/$id/anat"
    cp "study/$path" "folder/derivatives/$id/anat/${id}_GM_probseg.nii.gz"
    mkdir -p "folder/DERIVATIVES/$id/anat"
    cp "study/$path" "folder/DERIVATIVES/$id/anat/${id}_thickness.nii.gz"
done
cut -f 1,2 folder/participants.tsv | sed 1d | while read -r id age; do
    mkdir -p "folder/SUBJECTS_DIR/$id/stats"
    for hemisphere in lh rh; do
        { echo "# ColHeaders StructName NumVert SurfArea GrayVol ThickAvg ThickStd"
            echo "$id $age" | awk '{ split($1, i, "-"); print "bankssts 1000 700 1800", 3 - 0.006 * $2 + 0.01 * (i[2] % 7), "0.5" }'
        } >"folder/SUBJECTS_DIR/$id/stats/$hemisphere.aparc.stats"
    done
done
while IFS= read -r line <&3; do
    run "README" folder "$line"
done 3<lines
done_testing
