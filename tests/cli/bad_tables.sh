#!/bin/sh
# Tables that are not what they should be: one sentence, exit code 1, nothing left behind.
. "$(dirname "$0")/lib.sh"
make_tables

fit() { # promise, sentence, options ...
    promise=$1 sentence=$2
    shift 2
    refused "$promise" "$sentence" fit -y thickness.csv -o m.safetensors "$@"
}

cp people.csv people.xlsx
fit "a wrong extension" "people.xlsx cannot be a table, because its name does not end in .csv or .tsv; use one of these formats" -c people.xlsx
fit "a table that is not there" "lost.csv cannot be opened: no such file or directory" -c lost.csv
: >nothing.csv
fit "an empty file" "nothing.csv is empty, but must contain a header and rows" -c nothing.csv
head -n 1 people.csv >header.csv
fit "a header alone" "header.csv has a header but no rows" -c header.csv
sed '17s/,[0-9]*,/,young,/' people.csv >text.csv
fit "text in a numeric covariate" "text.csv line 17: age is 'young', but most rows contain a number; if it means a missing value, name it in --na" -c text.csv
sed '9s/,[0-9.]*,/,thick,/' thickness.csv >text.csv
refused "text in a response" "text.csv line 9: lh_a is 'thick', but must be a number" \
    fit -c people.csv -y text.csv -o m.safetensors
sed '5s/$/,9/' people.csv >ragged.csv
fit "a row too long" "ragged.csv line 5 has 5 fields, but the header has 4" -c ragged.csv
sed '5s/,[^,]*$//' people.csv >ragged.csv
fit "a row too short" "ragged.csv line 5 has 3 fields, but the header has 4" -c ragged.csv
sed '5s/,/;/g' people.csv >parted.csv
fit "a row with other separators than the header" \
    "parted.csv line 5 has 1 field, but the header has 4; the line has semicolons, the header commas" -c parted.csv
tr , '\t' <people.csv | sed '1s/\t/,/g' >parted.tsv
fit "a header with other separators than the rows" \
    "parted.tsv line 2 has 1 field, but the header has 4; the line has tabs, the header commas" -c parted.tsv
sed '1s/sex/age/' people.csv >names.csv
fit "a name twice in the header" "names.csv line 1: columns 2 and 3 are both named 'age'; rename one of them" -c names.csv
sed '2,$s/^s/p/' people.csv >others.csv
fit "no ids in common" \
    "others.csv and thickness.csv have no IDs in common (the first are p01 and s01); name the ID column in --id" -c others.csv
fit "no ids in common, and --match common" \
    "others.csv and thickness.csv have no IDs in common (the first are p01 and s01); name the ID column in --id" \
    -c others.csv --match common
sed '3s/^s02/s01/' people.csv >doubled.csv
fit "an id twice" "doubled.csv: 1 ID occurs more than once, first on lines 2 and 3: s01; if these are sessions of one participant, use --session" -c doubled.csv
fit "an id twice, and --match common" "doubled.csv: 1 ID occurs more than once, first on lines 2 and 3: s01; if these are sessions of one participant, use --session" \
    -c doubled.csv --match common
sed '/^s0[12],/d' people.csv >fewer.csv
fit "ids without covariates" \
    "thickness.csv: 2 IDs are not in fewer.csv: s01, s02; use --match common to use only the IDs that are in both" -c fewer.csv
works "--match common takes those that both have" \
    fit -c fewer.csv -y thickness.csv --match common -o common.safetensors
check "... and says how many" grep -q '^Fitted 38 participants, ' "$logs/out"
head -n 3 people.csv >two.csv
fit "fewer samples than 3" "two.csv: 2 participants with responses, but at least 3 are needed" \
    -c two.csv --match common
sed '6s/,[0-9]*,/,n\/a,/' people.csv >missing.csv
fit "a missing covariate" "missing.csv line 6: age is 'n/a', a missing value; use --missing drop to exclude such participants, or --missing mean to impute" \
    -c missing.csv
fit "a column that is not there" \
    "people.csv has no column 'agee' (named in --use); did you mean age?" \
    -c people.csv --use agee
fit "a response that is not there" \
    "thickness.csv has no column 'th_*' (named in --targets); did you mean lh_a, lh_b, rh_a?" \
    -c people.csv --targets 'th_*'
misused "one file for both, without --use" \
    ": regions.csv contains both covariates and responses; name the covariates in --use" \
    fit -c regions.csv -y regions.csv -o m.safetensors
misused "a mask for a table" ": --mask is for images, but thickness.csv is not an image" \
    fit -c people.csv -y thickness.csv -m mask.nii -o m.safetensors
misused "a column on both sides" \
    ": regions.csv: --targets age is a covariate or a label and cannot be a response" \
    fit -c regions.csv -y regions.csv --use age --targets age -o m.safetensors
misused "a column that is to be a number and a category" \
    ": --categorical and --numeric both name 'sex'; name it in only one of them" \
    fit -c people.csv -y thickness.csv --categorical sex --numeric sex -o m.safetensors
misused "a number that is no covariate" ": people.csv: --numeric age is not one of the covariates" \
    fit -c people.csv -y thickness.csv --use sex --numeric age -o m.safetensors
fit "a number that is text" "people.csv line 2: site is 'A', but --numeric requires a number" \
    -c people.csv --numeric site
sed '3s/^s02/s01/' regions.csv >visits.csv
works "an id twice in a table that is matched with no other" \
    fit -c visits.csv -y visits.csv --use age -o visits.safetensors --group none
check "... with a warning" grep -qxF \
    "kronorm fit: warning: visits.csv: some IDs occur in several rows, which this model treats as different participants" \
    "$logs/err"

works "the tables themselves are fine" fit -c people.csv -y thickness.csv -o model.safetensors -q
score() { # promise, sentence, options ...
    promise=$1 sentence=$2
    shift 2
    refused "$promise" "$sentence" score model.safetensors -o scored "$@"
}
sed '4s/,[AB]$/,Q/' people.csv >unseen.csv
score "a category that training did not have" \
    "unseen.csv: 1 participant is from a site that is not in the training data (Q); use 'kronorm adapt' with at least 5 healthy controls from there, or --unseen prior, which needs no controls but is less sensitive" \
    -c unseen.csv -y thickness.csv
cut -d, -f1,3- people.csv >noage.csv
score "a covariate that is not there" \
    "noage.csv has no column 'age' (a covariate of the model); its columns are participant_id, sex, site" \
    -c noage.csv -y thickness.csv
cut -d, -f1-3 thickness.csv >half.csv
score "a response that is not there to be scored" \
    "half.csv has no column 'rh_a' (a response of the model); its columns are participant_id, lh_a, lh_b" \
    -c people.csv -y half.csv
score "a label column that is not there" "people.csv has no column 'group' for --cases" \
    -c people.csv -y thickness.csv --cases group=patient
score "a label that nobody has" "people.csv: no participant has site 'C' (named in --cases)" \
    -c people.csv -y thickness.csv --cases site=C
refused "an id twice, and a file for each" \
    "doubled.csv: ID s01 is on lines 2 and 3, but --split writes one file per ID; make the IDs unique, or omit --split" \
    predict model.safetensors -c doubled.csv -o split --split
misused "a label without a value" ": --cases is 'site', but must be COLUMN=VALUE" \
    score model.safetensors -c people.csv -y thickness.csv -o scored --cases site
misused "images from a table" ": --format nii needs a model trained on images; this one has no geometry" \
    score model.safetensors -c people.csv -y thickness.csv -o scored --format nii

# ---- tables sorted by scanner
resemble() {
    grep -F "kronorm fit: warning: the residual maps of participants in adjacent rows have a correlation of " "$logs/err" |
        grep -qF " by chance); if the table is ordered by site, scanner or session, add that as a covariate"
}
awk -F, -v OFS=, 'NR > 1 { s = int((NR - 2) / 10) % 2 ? 0.1 : -0.1; $2 += s; $3 -= s; $5 += s } 1' \
    thickness.csv >scanners.csv
works "two scanners in turn that no covariate names" fit -c people.csv -y scanners.csv -o scanners.safetensors
check "... show in the order of the table, with a warning" resemble
works "people as they come" fit -c people.csv -y thickness.csv -o alike.safetensors
check "... bring none" sh -c "! grep -q warning '$logs/err'"
done_testing
