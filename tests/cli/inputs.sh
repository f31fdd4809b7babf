#!/bin/sh
# Which rows, columns and files a command uses when options name few of them or none, and its messages about it.
. "$(dirname "$0")/lib.sh"
make_tables
make_visits
python=$(command -v /usr/bin/python3 || command -v python3)

said() { grep -qF -e "$1" "$logs/err"; }
silent() { ! grep -qF -e "$1" "$logs/err"; }
same() { same_model "$1" "$2"; }
differ() { ! same_model "$1" "$2"; }
samples() { grep -q "^Fitted $1 participants, " "$logs/out"; }
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
check "... and how many is said" said "all.csv: --where selects 30 of 40 rows"
check "... are the same model" agree apart where
fits "... and the responses of others need not be there" fewer -c all.csv -y controls_y.csv --use age,sex,site \
    --where group=control
check "... for that model" same where.safetensors fewer.safetensors
fits "two conditions" young -c all.csv -y thickness.csv --use age,sex --where 'group=control, age<60'
check "... both hold" samples "$(awk -F, 'NR > 1 && $5 == "control" && $2 < 60' all.csv | wc -l)"
fits "some of a list" some -c all.csv -y thickness.csv --use age --where 'participant_id in s01|s02|s03|s05|s07|s09'
check "... are those" samples 6
awk -F, -v OFS=, 'NR == 1 { print $0, "asd"; next } { print $0, NR % 4 ? 0 : 1 }' people.csv >asd.csv
fits "a column that --where holds to one value" held -c asd.csv -y thickness.csv --where asd=0
check "... is no covariate" sh -c '! "$1" info held.safetensors | grep -v "^  fitted by\|^  input\|^    Participants\|^    IDs\|^    Responses" | grep -q asd' - "$KRONORM"
fits "... one that it bounds is" bounded -c people.csv -y thickness.csv --where 'age<90'
check "... still there" sh -c '"$1" info bounded.safetensors | grep -q "^  age:"' - "$KRONORM"
works "scoring some" score where.safetensors -c all.csv -y thickness.csv --where group=patient -o patients
check "... scores them alone" test "$(column patients/abnormality.tsv participant_id | tr '\n' ' ')" = \
    "$(awk -F, '$5 == "patient" { printf "%s ", $1 }' all.csv)"
sed '3s/,[^,]*/,-999/' thickness.csv >coded.csv
works "scoring a -999" score where.safetensors -c all.csv -y coded.csv -o coded
check "... is not believed" test "$(awk -F'\t' 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == "implausible") c = i } NR == 3 { print $c }' coded/abnormality.tsv)" = 1
check "... and scored_participants.tsv says why" grep -q "contains -999 or -9999" coded/scored_participants.tsv
check "... and that the model has seen the person" grep -q "in the training sample, but scored as new" coded/scored_participants.tsv
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

# ---- several rows per participant
awk -F, -v OFS=, '{ print $1, NR == 1 ? "visit" : 2 - NR % 2 * 1, $2, $3, $5 }' visits.csv |
    sed 's/^s/sub-/' >visits_c.csv
awk -F, -v OFS=, '{ print NR == 1 ? "visit" : "ses-" (2 - NR % 2 * 1), $1, $10, $11, $12, $13 }' visits.csv |
    sed 's/,s\([0-9]\)/,sub-\1/' >visits_y.csv
{ head -n 1 visits_y.csv && tail -n +2 visits_y.csv | sort -r; } >turned && mv turned visits_y.csv
fits "two sessions a person in two files" sessions -c visits_c.csv -y visits_y.csv --use age,sex --session visit
check "... are all there" samples 60
check "... and share noise as one person" \
    said "visits_c.csv: IDs repeat; 60 rows are of 30 participants, and the rows of one participant share noise"
fits "... in one table" one -c visits.csv -y visits.csv --use age,sex --targets a,b,c,d
check "... for the same likelihood" agree sessions one
works "sessions are scored" score sessions.safetensors -c visits_c.csv -y visits_y.csv --session Visit -o sessions
check "... under ids of their own" \
    test "$(column sessions/abnormality.tsv participant_id | sort | head -n 2 | tr '\n' ' ')" = "sub-01_ses-1 sub-01_ses-2 "
check "... which training had" test "$(column sessions/abnormality.tsv in_training | sort -u)" = 1
works "a further session of known people" score sessions.safetensors -c visits_c.csv -y visits_y.csv --session visit \
    --known-groups --where visit=2 -o known
check "... is known" said "known training groups: 30 of 30 participants"
fits "the first session of everybody" first -c visits_c.csv -y visits_y.csv --use age,sex --session first
check "... is one row each" samples 30
check "... and that is said" said "visits_c.csv: --session first keeps 30 of 60 rows, one per participant"
fits "... is that of number 1" number1 -c visits_c.csv -y visits_y.csv --use age,sex --session visit --where visit=1
check "... and no other" agree first number1
fits "the last session of everybody" last -c visits_c.csv -y visits_y.csv --use age,sex --session last
fits "... is that of number 2" number2 -c visits_c.csv -y visits_y.csv --use age,sex --session visit --where visit=2
check "... and no other" agree last number2
check "... which is not the first" test "$(lml last)" != "$(lml first)"
works "scoring the first" score first.safetensors -c visits_c.csv -y visits_y.csv --session first -o firsts
check "... has plain ids" test "$(column firsts/abnormality.tsv participant_id | sort | head -n 1)" = sub-01

# ---- columns by default
awk -F, -v OFS=, 'NR == 1 { print $0, "Diagnosis", "run", "scanner_id", "kids"; next }
    { print $0, NR % 4 ? "none" : "mdd", NR % 2, 1 + NR % 3, NR % 5 }' all.csv >wide.csv
fits "who is a patient is no covariate" wide -c wide.csv -y thickness.csv
check "... nor which run it was, nor what no usual name has, and that is said" said \
    "kronorm fit: warning: wide.csv: the covariates are age, sex, site, scanner_id; not used: group, Diagnosis, run, kids (to use them: --use age,sex,site,scanner_id,...)"
check "... as are the covariates there are" said \
    "wide.csv: covariates are age (number), sex (2 levels: F, M), site (batch, 2 levels: A, B), scanner_id (batch, 3 levels: 1, 2, 3)"
works "info tells kinds and levels" info wide.safetensors
check "... of categories" grep -q '^  covariates: .*, scanner_id (batch effect: 1, 2, 3)' "$logs/out"
fits "names of diagnoses and visits alone" usual -c all.csv -y thickness.csv
check "... are no warning" said "all.csv: not used as covariates unless --use names them: group"
awk -F, -v OFS=, 'NR == 1 { print $1, "asd", "kids"; next } { print $1, NR % 2, NR % 7 }' all.csv >strangers.csv
refused "no usual name at all" "strangers.csv: no column has the name of a usual covariate, such as age, sex or site; name the covariates in --use (the columns are asd, kids)" \
    fit -c strangers.csv -y thickness.csv -o strangers.safetensors
awk -F, -v OFS=, 'NR == 1 { print $0, "place"; next } { print $0, "p" NR % 6 }' people.csv >places.csv
fits "a category of many levels" places -c places.csv -y thickness.csv --categorical place
check "... may be a site" said "kronorm fit: warning: places.csv: category place has 6 levels; if it is a site or a scanner, name it in --batch"
fits "they are where they are asked for" named -c wide.csv -y thickness.csv --use age,group
check "... and nothing is said of that" silent "not a covariate unless"
works "people are scored whatever group they are of" score wide.safetensors -c wide.csv -y thickness.csv \
    --cases Group=patient -o labelled
check "... without a word on it" silent Diagnosis
fits "numbers of a scanner" scanner -c wide.csv -y thickness.csv --use age,scanner_id,kids
check "... are a category, which is said" said \
    "wide.csv: scanner_id has 3 different whole numbers and is treated as a category; --numeric scanner_id treats it as a number"
check "... and of other few numbers there is a warning" said \
    "kronorm fit: warning: wide.csv: these columns with few different values are treated as numbers: kids; name them in --categorical if they are codes, or in --numeric if not"
fits "... unless they are called numbers" numbers -c wide.csv -y thickness.csv --use age,scanner_id,kids \
    --numeric scanner_id,kids
check "... and nothing is said of that" silent "whole numbers"
awk -F, -v OFS=, 'NR == 1 { print $0, "scanner", "rated"; next } { print $0, NR % 3, NR % 20 }' thickness.csv >counts.csv
fits "few whole numbers are no responses" counts -c people.csv -y counts.csv
check "... and that is said" said \
    "counts.csv: at most 20 different whole numbers, so not responses unless --targets names them: scanner, rated"
check "... so that the others are all" grep -q ', 4 responses, ' "$logs/out"
fits "... but where they are asked for" counted -c people.csv -y counts.csv --targets 'lh_*,RATED'
check "... with a name in any case" grep -q ', 3 responses, ' "$logs/out"

# ---- names
fits "covariates by pattern" pattern -c all.csv -y thickness.csv --use 'a*,s*'
fits "... and in any case" cases -c all.csv -y thickness.csv --use 'AGE,Sex,site'
check "... are those" agree pattern cases
fits "categories by pattern" categories -c wide.csv -y thickness.csv --use 'age,scanner_id,kids' --categorical '*i*d*'
check "... are those" grep -q 'kids (5 levels: 0, 1, 2, 3, 4)' "$logs/err"
sed '1s/age/Age/' people.csv >capital.csv
works "a table with other capitals" score apart.safetensors -c capital.csv -y thickness.csv -o capital

# ---- what parts fields
sed 's/,/;/g' people.csv >semicolons.csv
fits "semicolons" semicolons -c semicolons.csv -y thickness.csv
check "... are seen" said "semicolons.csv: the fields are separated by semicolons"
tr , '\t' <people.csv >tabs.csv
fits "tabs in a .csv" tabs -c tabs.csv -y thickness.csv
cp people.csv commas.tsv
fits "commas in a .tsv" commas -c commas.tsv -y thickness.csv
fits "... and commas" plain -c people.csv -y thickness.csv
for m in semicolons tabs commas; do check "... are one" same_model $m.safetensors plain.safetensors; done

# ---- lists of images
train="-c study/train_participants.tsv -m study/mask.nii.gz"
fits "a list" list $train -y study/train_images.txt
{ echo "participant_id	path" && cat study/train_images.txt; } >study/headed.txt
fits "... with a header" headed $train -y study/headed.txt
sed 's/\t/   /' study/headed.txt >study/spaced.txt
fits "... with spaces for tabs" spaced $train -y study/spaced.txt
mkdir "study/my images"
while read -r id path; do cp "study/$path" "study/my images/$id.nii.gz"; done <study/train_images.txt
{ echo path && sed 's/.*images/my images/' study/train_images.txt; } >study/within.txt
fits "... of paths with spaces" within $train -y study/within.txt
for m in headed spaced within; do check "... are one list" same_model $m.safetensors list.safetensors; done
mkdir study/bids
while read -r id path; do
    mkdir -p study/bids/$id/ses-1 study/bids/$id/ses-2
    cp "study/$path" study/bids/$id/ses-1/z.nii.gz
    cp "study/$path" study/bids/$id/ses-2/z.nii.gz
done <study/train_images.txt
fits "a pattern of files" glob $train -y 'study/bids/sub-*/ses-1/z.nii.gz'
check "... are people by their label" samples 19
check "... for the same likelihood" agree glob list
awk -F'\t' -v OFS='\t' 'NR == 1 { print $0, "session"; next } { print $0, "ses-1"; print $0, "ses-2" }' \
    study/train_participants.tsv >study/sessions.tsv
fits "sessions in paths" bids -c study/sessions.tsv -m study/mask.nii.gz -y 'study/bids/*/*/z.nii.gz' --session session
check "... are all there" samples 38
check "... of as many people" said "38 rows are of 19 participants"
fits "... the last of each" bids_last -c study/sessions.tsv -m study/mask.nii.gz -y 'study/bids/*/*/z.nii.gz' --session last
check "... one each" samples 19
awk -F'\t' -v OFS='\t' 'NR > 1 { $1 = $1 "_" $NF } 1' study/sessions.tsv | cut -f1-4 >study/joined.tsv
fits "ids that name sessions" joined -c study/joined.tsv -m study/mask.nii.gz -y 'study/bids/*/*/z.nii.gz'
check "... match those of paths" samples 38

# ---- what can hardly be
sed '3s/,[FM],/,f,/' people.csv >letters.csv
fits "levels that differ in case" letters -c letters.csv -y thickness.csv
check "... with a warning" said \
    "kronorm fit: warning: letters.csv: some levels of sex differ only in case and are treated as different; correct them if they are the same: F and f"
sed -e '5s/,[0-9]*,/,-999,/' -e '7s/,[0-9]*,/,4000,/' people.csv >far.csv
fits "ages that cannot be" far -c far.csv -y thickness.csv
check "... with their lines" said \
    "kronorm fit: warning: far.csv: 2 numbers are far from all others; correct errors, and name codes for missing values in --na: line 5 age is -999, line 7 age is 4000"
works "... in a cross-validation" cv -c far.csv -y thickness.csv --folds 4 -o far_cv
check "... once, and not once per fold" test "$(grep -c 'far from all others' "$logs/err")" -eq 1
sed '9s/,[0-9.]*,/,-999,/' thickness.csv >far_y.csv
fits "a response that cannot be" far_y -c people.csv -y far_y.csv
check "... with its name" said \
    "kronorm fit: warning: far_y.csv: 1 value is far beyond all others and is treated as missing (--outliers): s08 lh_a is -999"
done_testing
