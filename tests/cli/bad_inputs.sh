#!/bin/sh
# Choices of rows and columns that cannot be: one sentence, nothing left behind.
. "$(dirname "$0")/lib.sh"
make_tables

fit() { # promise, sentence, options ...
    promise=$1 sentence=$2
    shift 2
    refused "$promise" "$sentence" fit -o m.safetensors "$@"
}
wrong() { # promise, sentence, options ...
    promise=$1 sentence=$2
    shift 2
    misused "$promise" "$sentence" fit -o m.safetensors "$@"
}

# ---- conditions
both="-c people.csv -y thickness.csv"
fit "a condition on a column that is not there" \
    "people.csv has no column 'grup' (named in --where); its columns are participant_id, age, sex, site" \
    $both --where grup=control
fit "a condition that nobody meets" "people.csv: --where site=C selects no row; the values of site are A, B" $both --where site=C
fit "a number compared with texts" \
    "people.csv line 2: site is 'A', but --where site<5 requires a number" $both --where 'site<5'
wrong "a text to compare with" ": --where is 'age<old', but <, <=, > and >= compare numbers only" $both --where 'age<old'
wrong "no condition" \
    ": --where is 'site', but must be a column, an operator (= != < <= > >= in) and a value, such as age<60 or site in a|b" \
    $both --where site

# ---- sessions
awk -F, -v OFS=, 'NR == 1 { print $0, "visit"; next } { print $0, 1; if (NR < 9) print $0, 2 }' people.csv >visits.csv
fit "ids that repeat" \
    "visits.csv: 7 IDs occur more than once, first on lines 2 and 3: s01, s02, s03, s04, s05, ...; if these are sessions of one participant, use --session" \
    -c visits.csv -y thickness.csv
fit "sessions that only one side has" \
    "visits.csv and thickness.csv have no IDs in common (the first are s01_ses-1 and s01); name the ID column in --id" \
    -c visits.csv -y thickness.csv --session visit
fit "a column of sessions that is not there" \
    "people.csv has no column 'wave' (named in --session); its columns are participant_id, age, sex, site" \
    $both --session wave
sed '4s/,1$/,n\/a/' visits.csv >unknown.csv
fit "a row without a session" \
    "unknown.csv line 4: visit is 'n/a', but --session requires a session in every row" \
    -c unknown.csv -y thickness.csv --session visit
cut -d, -f2- people.csv >nobody.csv
cut -d, -f2- thickness.csv >nothing.csv
fit "sessions of nobody" "nobody.csv has no ID column, but --session needs one; name it in --id" \
    -c nobody.csv -y nothing.csv --session first

# ---- columns
fit "a pattern that matches no column" \
    "people.csv has no column 'x*' (named in --use); its columns are participant_id, age, sex, site" $both --use 'x*'
wrong "a category by pattern that is a number too" ": --categorical and --numeric both name 'site'; name it in only one of them" \
    $both --categorical 's*' --numeric site
sed 's/,/;/g; 2,9s/^\([^;]*;[0-9]*\);/\1,5;/; 10,$s/^\([^;]*;[0-9]*\);/\1.5;/' people.csv >comma.csv
fit "decimal commas" \
    "comma.csv line 2: age is '$(sed -n 2p comma.csv | cut -d';' -f2)', which has a decimal comma; save the table with decimal points" \
    -c comma.csv -y thickness.csv
sed 's/,/;/g; 2,9s/\./,/g' thickness.csv >comma_y.csv
fit "decimal commas in responses" \
    "comma_y.csv line 2: lh_a is '$(sed -n 2p comma_y.csv | cut -d';' -f2)', which has a decimal comma; save the table with decimal points" \
    -c people.csv -y comma_y.csv
sed '2,$s/^\([^,]*,[0-9]*\),/\1,5,/' people.csv >unquoted.csv
fit "decimal commas between commas" \
    "unquoted.csv line 2 has 5 fields, but the header has 4; check for decimal commas and for commas in unquoted text" \
    -c unquoted.csv -y thickness.csv
awk -F, -v OFS=, '{ print $1, NR == 1 ? "scanner" : NR % 3 }' thickness.csv >codes.csv
fit "codes alone" \
    "codes.csv has no numeric column left for the responses; if columns with few different whole numbers are responses, name them in --targets" \
    -c people.csv -y codes.csv

# ---- files
fit "a pattern that no file has" "maps/*/z.nii.gz: no file matches this pattern" -c people.csv -y 'maps/*/z.nii.gz'
mkdir images && : >images/sub-1.nii
fit "... where a folder is misspelt" "imges/*.nii: no file matches this pattern; did you mean images?" -c people.csv -y 'imges/*.nii'
fit "... where the files end otherwise" "images/sub-*_T1w.mgh: no file matches this pattern; images contains sub-1.nii" -c people.csv -y 'images/sub-*_T1w.mgh'
sed '9s/,.*/,n\/a,n\/a,n\/a,n\/a/' thickness.csv >blank.csv
fit "a row without a number" \
    "blank.csv line 9 has no finite value; exclude it with --where or --match common" \
    -c people.csv -y blank.csv --missing-responses drop
make_images
python=$(command -v /usr/bin/python3 || command -v python3)
if [ -n "$python" ] && "$python" -c 'import nibabel' 2>/dev/null; then
    victim=$(sed -n 4p study/train_images.txt | cut -f2)
    "$python" -c "import nibabel as b, numpy as n
i = b.load('study/$victim')
b.save(b.Nifti1Image(n.full(i.shape, n.nan, 'f4'), i.affine), 'study/$victim')"
    for mask in "" "-m study/mask.nii.gz"; do
        fit "an image without a number${mask:+, and a mask}" \
            "study/$victim has no finite value; exclude it with --where or --match common" \
            -c study/train_participants.tsv -y study/train_images.txt --missing-responses drop $mask
    done
else
    skip "an image without a number" "no nibabel"
fi
done_testing
