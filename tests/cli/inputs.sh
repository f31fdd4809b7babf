#!/bin/sh
# Which rows, columns and files a command takes when it is told in few words, or not at all; and that it says so.
. "$(dirname "$0")/lib.sh"
make_tables
make_visits
python=$(command -v /usr/bin/python3 || command -v python3)

said() { grep -qF -e "$1" "$logs/err"; }
silent() { ! grep -qF -e "$1" "$logs/err"; }
same() { cmp -s "$1" "$2"; }
differ() { ! cmp -s "$1" "$2"; }
samples() { grep -q "^  samples $1," "$logs/out"; }
fits() { # promise, model, options ...
    promise=$1 model=$2
    shift 2
    works "$promise" fit -o "$model.safetensors" "$@"
}
lml() { "$KRONORM" info "$1.safetensors" --json | awk '/"lml":/ { printf "%.5f", $2 }'; }
agree() { test "$(lml "$1")" = "$(lml "$2")"; }

# ---- rows by condition
awk -F, -v OFS=, 'NR == 1 { print $0, "group"; next } { print $0, NR % 4 ? "control" : "patient" }' people.csv >all.csv
awk -F, 'NR == 1 || $5 == "control"' all.csv | cut -d, -f1-4 >controls.csv
awk -F, 'FNR == NR { in_it[$1] = 1; next } FNR == 1 || $1 in in_it' controls.csv thickness.csv >controls_y.csv
fits "the controls in files of their own" apart -c controls.csv -y controls_y.csv
fits "the controls of all, by --where" where -c all.csv -y thickness.csv --use age,sex,site --where group=control
check "... and how many is said" said "all.csv: --where chooses 30 of 40 rows"
check "... are the same model" agree apart where
fits "... and the responses of others need not be there" fewer -c all.csv -y controls_y.csv --use age,sex,site \
    --where group=control
check "... for that model" same where.safetensors fewer.safetensors
fits "two conditions" young -c all.csv -y thickness.csv --use age,sex --where 'group=control, age<60'
check "... both hold" samples "$(awk -F, 'NR > 1 && $5 == "control" && $2 < 60' all.csv | wc -l)"
fits "some of a list" some -c all.csv -y thickness.csv --use age --where 'participant_id in s01|s02|s03|s05|s07|s09'
check "... are those" samples 6
works "scoring some" score where.safetensors -c all.csv -y thickness.csv --where group=patient -o patients
check "... scores them alone" test "$(column patients/abnormality.tsv participant_id | tr '\n' ' ')" = \
    "$(awk -F, '$5 == "patient" { printf "%s ", $1 }' all.csv)"
works "predicting some" predict where.safetensors -c all.csv --where 'age>=60' -o old
check "... predicts them alone" \
    test "$(tail -n +2 old/yhat.csv | wc -l)" -eq "$(awk -F, 'NR > 1 && $2 >= 60' all.csv | wc -l)"
if [ -n "$python" ] && "$python" -c 'import numpy' 2>/dev/null; then
    "$python" -c 'import numpy as n
y = n.genfromtxt("thickness.csv", delimiter=",", skip_header=1)[:, 1:]
n.save("y.npy", y)
y = n.genfromtxt("controls_y.csv", delimiter=",", skip_header=1)[:, 1:]
n.save("controls.npy", y)'
    fits "rows of an array" array -c all.csv -y y.npy --use age,sex,site --where group=control
    fits "... are those of the same place" array_apart -c controls.csv -y controls.npy
    check "... as in files of their own" agree array array_apart
else
    skip "rows of an array" "no numpy"
fi
make_images
awk -F'\t' -v OFS='\t' 'NR == 1 { print $0, "half"; next } { print $0, NR % 3 ? "a" : "b" }' study/train_participants.tsv >halves.tsv
awk -F'\t' 'NR == 1 || $NF == "a"' halves.tsv >half.tsv
fits "images of a list" listed -c halves.tsv -y study/train_images.txt -m study/mask.nii.gz --use age --where half=a
fits "... are matched by id" half -c half.tsv -y study/train_images.txt -m study/mask.nii.gz --use age --match common
check "... as in a table of their own" agree listed half
if [ -n "$python" ] && "$python" -c 'import nibabel' 2>/dev/null; then
    "$python" -c 'import nibabel as b
names = [l.split()[0] for l in open("halves.tsv")][1:]
b.save(b.concat_images(["study/images/" + n + ".nii.gz" for n in names]), "all.nii.gz")'
    fits "volumes of a 4D file" volumes -c halves.tsv -y all.nii.gz -m study/mask.nii.gz --use age --where half=a
    check "... are those of the same place" agree volumes half
else
    skip "volumes of a 4D file" "no nibabel"
fi

# ---- several rows a person
awk -F, -v OFS=, '{ print $1, NR == 1 ? "visit" : 2 - NR % 2 * 1, $2, $3, $5 }' visits.csv |
    sed 's/^s/sub-/' >visits_c.csv
awk -F, -v OFS=, '{ print NR == 1 ? "visit" : "ses-" (2 - NR % 2 * 1), $1, $10, $11, $12, $13 }' visits.csv |
    sed 's/,s\([0-9]\)/,sub-\1/' >visits_y.csv
{ head -n 1 visits_y.csv && tail -n +2 visits_y.csv | sort -r; } >turned && mv turned visits_y.csv
fits "two sessions a person in two files" sessions -c visits_c.csv -y visits_y.csv --use age,sex --session visit
check "... are all there" samples 60
check "... and share noise as one person" \
    said "visits_c.csv: ids repeat, 60 rows are 30 people; the rows of one person share noise"
fits "... in one table" one -c visits.csv -y visits.csv --use age,sex --targets a,b,c,d
check "... for the same likelihood" agree sessions one
works "sessions are scored" score sessions.safetensors -c visits_c.csv -y visits_y.csv --session Visit -o sessions
check "... under ids of their own" \
    test "$(column sessions/abnormality.tsv participant_id | sort | head -n 2 | tr '\n' ' ')" = "sub-01_ses-1 sub-01_ses-2 "
check "... which training had" test "$(column sessions/abnormality.tsv in_training | sort -u)" = 1
works "a further session of known people" score sessions.safetensors -c visits_c.csv -y visits_y.csv --session visit \
    --known-groups --where visit=2 -o known
check "... is known" said "30 of 30 people belong to groups of training"
fits "the first session of everybody" first -c visits_c.csv -y visits_y.csv --use age,sex --session first
check "... is one row each" samples 30
check "... and that is said" said "visits_c.csv: --session first keeps 30 of 60 rows, one of each person"
fits "... is that of number 1" number1 -c visits_c.csv -y visits_y.csv --use age,sex --session visit --where visit=1
check "... and no other" agree first number1
fits "the last session of everybody" last -c visits_c.csv -y visits_y.csv --use age,sex --session last
fits "... is that of number 2" number2 -c visits_c.csv -y visits_y.csv --use age,sex --session visit --where visit=2
check "... and no other" agree last number2
check "... which is not the first" test "$(lml last)" != "$(lml first)"
works "scoring the first" score first.safetensors -c visits_c.csv -y visits_y.csv --session first -o firsts
check "... has plain ids" test "$(column firsts/abnormality.tsv participant_id | sort | head -n 1)" = sub-01
done_testing
