#!/bin/sh
# scored_participants.tsv of score and predict: which participants took part, with which values, and warnings.
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
check "... and are told why" grep -qF "warning: metrics are n/a, because every participant has stored training z-scores; --training-rows plain predicts them again, but gives optimistic metrics" "$logs/err"
works "new people beside them" score model.safetensors -c people.csv -y thickness.csv -o both
check "... have metrics" sh -c "! grep -q 'metrics are n/a' '$logs/err' && ! cut -f 2 both/metrics.tsv | grep -q n/a"

# ---- participants.tsv
cut_to() { cut -f "$1" "$2" | tr '\t\n' ' /'; } # columns, file: on one line
works "score tells who was used" score model.safetensors -c new_people.csv -y new_thickness.csv -o straight
check "... in the order of the maps" test "$(column straight/scored_participants.tsv participant_id | tr '\n' ' ')" = \
    "$(column straight/z.csv participant_id | tr '\n' ' ')"
check "... with their covariates" test "$(cut -f 6- straight/scored_participants.tsv | tr '\t' ,)" = "$(cut -d, -f 2- new_people.csv)"
check "... and nothing to remark" test "$(cut -f 2,3,5 straight/scored_participants.tsv | sort -u | tr '\t\n' ' /')" = \
    "status why label/used n/a n/a/"
check "... as far from training as abnormality.tsv says" test "$(column straight/scored_participants.tsv extrapolation_pct)" = \
    "$(column straight/abnormality.tsv extrapolation_pct)"
sed 's/^s35,[0-9]*,/s35,,/; /^s33/d' new_people.csv >gaps.csv
grep -v '^s31' new_thickness.csv >gaps_y.csv
works "who is dropped" score model.safetensors -c gaps.csv -y gaps_y.csv --match common --missing drop -o gaps
check "... comes last, with the reason" test "$(tail -n 3 gaps/scored_participants.tsv | cut_to 1-8 -)" = \
    "s31 dropped no responses n/a n/a n/a n/a n/a/s35 dropped missing age n/a n/a n/a n/a n/a/\
s33 dropped no covariates n/a n/a n/a n/a n/a/"
check "... behind those who have maps" test "$(column gaps/scored_participants.tsv participant_id | head -n 7)" = \
    "$(column gaps/z.csv participant_id)"
works "who is not chosen" score model.safetensors -c gaps.csv -y gaps_y.csv --match common --missing drop \
    --where 'site=A,age<50' -o chosen
tell_where() { # rows of gaps.csv that --where leaves out, in their order, then those without covariates
    awk -F, 'NR > 1 && !($4 == "A" && $2 != "" && $2 < 50) { print $1 " not chosen by where" }' gaps.csv
    awk -F, 'NR > 1 && $4 == "A" && $2 != "" && $2 < 50 && $1 == "s31" { print "s31 no responses" }' gaps.csv
    echo "s33 no covariates"
}
check "... is called so, and not said to lack anything" test \
    "$(awk -F '\t' '$2 == "dropped" { print $1, $3 }' chosen/scored_participants.tsv | sort)" = "$(tell_where | sort)"
check "... nor told twice" test "$(tail -n +2 chosen/scored_participants.tsv | cut -f 1 | sort | uniq -d)" = ""
check "... and counted in the summary" grep -q '"not chosen by where": [1-9]' chosen/summary.json
works "... by predict too" predict model.safetensors -c new_people.csv --where site=A -o half
check "... alike" test "$(awk -F '\t' '$2 == "dropped" { print $3 }' half/scored_participants.tsv | sort | uniq -c | tr -s ' ')" = \
    " 5 not chosen by where"
awk -F, -v OFS=, 'NR == 1 { print $0, "session"; next } { print $0, 1; $2++; print $0, 2 }' new_people.csv >twice.csv
awk -F, -v OFS=, 'NR == 1 { print $0, "session"; next } { print $0, 1; $2 += 0.01; print $0, 2 }' new_thickness.csv >twice_y.csv
works "one session of everybody" score model.safetensors -c twice.csv -y twice_y.csv --session last -o last
check "... the others are another session's, told once" test "$(awk -F '\t' '{ print $2, $3 }' last/scored_participants.tsv | sort | uniq -c | tr -s ' ')" = \
    " 10 dropped another session
 1 status why
 10 used n/a"
works "responses of several sessions" score model.safetensors -c new_people.csv -y twice_y.csv --session first -o first
check "... likewise" test "$(awk -F '\t' '{ print $2, $3 }' first/scored_participants.tsv | sort | uniq -c | tr -s ' ')" = \
    "$(awk -F '\t' '{ print $2, $3 }' last/scored_participants.tsv | sort | uniq -c | tr -s ' ')"
works "both at once" score model.safetensors -c twice.csv -y twice_y.csv --session last --where site=A -o both_left
check "... each by its reason" test "$(awk -F '\t' '{ print $2, $3 }' both_left/scored_participants.tsv | sort | uniq -c | tr -s ' ')" = \
    " 5 dropped another session
 10 dropped not chosen by where
 1 status why
 5 used n/a"
{ head -n 1 people.csv; echo "a,150,F,A"; echo "b,n/a,M,B"; echo "c,40,M,C"; echo "d,40,,B"; } >odd.csv
works "predict tells too" predict model.safetensors -c odd.csv --missing mean --unseen prior -o odd
check "... what it took in the place of what was given" test "$(cut_to 1-3,5- odd/scored_participants.tsv)" = \
    "participant_id status why age sex site/a used age 150 clamped to $(column odd/scored_participants.tsv age | head -n 1) \
$(column odd/scored_participants.tsv age | head -n 1) F A/b used age missing: training mean \
$(column odd/scored_participants.tsv age | sed -n 2p) M B/c used site C is a new level 40 M C/d used sex missing: average of its levels 40 n/a B/"
check "... the mean of training" awk -F, -v mean="$(column odd/scored_participants.tsv age | sed -n 2p)" \
    'NR > 1 { s += $2; n++ } END { d = s / n - mean; exit !(d * d < 1e-20) }' old_people.csv
check "... and half a range beyond" awk -F, -v at="$(column odd/scored_participants.tsv age | head -n 1)" \
    'NR == 2 { low = high = $2 } NR > 1 { if ($2 < low) low = $2; if ($2 > high) high = $2 }
     END { exit !(at == high + (high - low) / 2) }' old_people.csv
check "... and warns of who is far from training" grep -qE \
    "warning: covariates are far from the training sample \(extrapolation_pct above 99\) in [1-4] of 4 participants: a.*; their predictions are very uncertain" \
    "$logs/err"
works "predict of people as in training" predict model.safetensors -c new_people.csv -o near
check "... has nothing to warn of" sh -c "! grep -q warning '$logs/err'"
check "... and is as far from training as score says" test "$(column near/scored_participants.tsv extrapolation_pct)" = \
    "$(column straight/scored_participants.tsv extrapolation_pct)"
works "--split has it too" score model.safetensors -c new_people.csv -y new_thickness.csv --split -o split
check "... the same, and whose files are whose" test "$(cut -f 1-4,6- split/scored_participants.tsv)$(column split/scored_participants.tsv maps | sort -u)" = \
    "$(cat straight/scored_participants.tsv)z.csv"
# ---- excluded participants
(head -n 1 new_people.csv && tail -n 8 new_people.csv) >eight.csv
: >split/s31_notes.txt
: >split/s99_z.csv
: >split/s32_yhat.csv
works "--split --force with fewer people" score model.safetensors -c eight.csv -y new_thickness.csv --match common \
    --split --force -o split
check "... removes the maps of those who left, and nothing else" test "$(cd split && echo s3[1239]*)" = \
    "s31_notes.txt s32_yhat.csv s33_z.csv s39_z.csv"
check "... that nobody listed" test -f split/s99_z.csv
check "... and says so" grep -qx '2 maps of an earlier run were removed' "$logs/err"
works "--force without --split" score model.safetensors -c new_people.csv -y new_thickness.csv --force -o split
check "... removes the maps of single participants" test ! -e split/s33_z.csv -a -f split/s99_z.csv
works "two kinds of maps" predict model.safetensors -c new_people.csv --split -o kinds
works "... leave together" predict model.safetensors -c eight.csv --split --force --write yhat -o kinds
check "... and so does the kind that is not written now" test "$(cd kinds && echo s3[123]*)" = "s33_yhat.csv"
cp kinds/scored_participants.tsv kept.tsv
(head -n 1 new_people.csv && tail -n 7 new_people.csv) >seven.csv
cp seven.csv kinds/s33_yhat.csv
refused "a run that fails removes nothing" "none.csv cannot be opened: no such file or directory" \
    predict model.safetensors -c none.csv --split --force -o kinds
printf 'participant_id\tstatus\tmaps\n../kinds/s33\tused\tyhat.csv\ns33\tused\t/../../eight.csv\n' >kinds/scored_participants.tsv
works "a scored_participants.tsv that somebody made up" predict model.safetensors -c seven.csv --split --force -o kinds
check "... reaches no file out of the folder, or by another name" test -f eight.csv -a -f kinds/s33_yhat.csv
cp kept.tsv kinds/scored_participants.tsv
works "an input that is in the folder" predict model.safetensors -c kinds/s33_yhat.csv --split --force -o kinds
check "... stays" cmp kinds/s33_yhat.csv seven.csv
mkdir taken
: >taken/scored_participants.tsv
refused "one that is there is kept" "taken/scored_participants.tsv already exists; use --force to replace it" \
    predict model.safetensors -c new_people.csv -o taken
sed '1s/site/why/' old_people.csv >why.csv
"$KRONORM" fit -c why.csv -y old_thickness.csv --use age,why -o why.safetensors -q
"$KRONORM" score why.safetensors -c why.csv -y old_thickness.csv --cases why=B -o why -q
check "names of columns do not meet" test "$(head -n 1 why/scored_participants.tsv | tr '\t' ' ')" = \
    "participant_id status why extrapolation_pct label age used_why"
check "labelled people are labelled" test "$(cut -f 5,7 why/scored_participants.tsv | sort -u | tr '\t\n' ' /')" = "0 A/1 B/label used_why/"
"$KRONORM" fit -c old_people.csv -y old_thickness.csv --use age,site --sample-kernel linear+se -o sum.safetensors -q
"$KRONORM" predict sum.safetensors -c new_people.csv -o sum -q
check "a sum of kernels has the same covariates" test "$(cut -f 5- sum/scored_participants.tsv | tr '\t' ,)" = \
    "$(cut -d, -f 2,4 new_people.csv)"

# ---- training ids with other data
sed '2,4s/,[0-9]*,/,33,/' old_people.csv >older.csv
awk -F, -v OFS=, 'NR == 4 || NR == 5 { $2 += 20 } 1' old_thickness.csv >moved.csv
works "training ids with other covariates, or responses, or both" score model.safetensors -c older.csv -y moved.csv -o older
check "... are told of" grep -qF "warning: 4 participants have IDs of training participants, but other responses (2) or covariates (3); they are scored as new, with z-scores that are too small if they are the training participants" "$logs/err"
"$KRONORM" score model.safetensors -c older.csv -y moved.csv --training-rows plain -o plainly -q
check "... and scored as new" test "$(sed -n 2,5p older/z.csv)" = "$(sed -n 2,5p plainly/z.csv)"
check "... the others as they were" test "$(tail -n 26 older/z.csv)" = "$(tail -n 26 old/z.csv)"
check "... who differ from what they would be as new ones" test "$(tail -n 26 older/z.csv)" != "$(tail -n 26 plainly/z.csv)"
check "... and are in training all the same" test "$(column older/abnormality.tsv in_training | sort -u)" = 1
awk -F, -v OFS=, 'NR > 1 { $2 = $2 ".0" } { print $4, $1, $2, $3 }' old_people.csv >same.csv
works "the same covariates, written otherwise" score model.safetensors -c same.csv -y old_thickness.csv -o same
check "... are the same" cmp same/z.csv old/z.csv

# ---- data that cannot be right
# wide.csv, all in one: 40 participants with 12 responses
awk 'function u() { x = (x * 16807) % 2147483647; return x / 2147483647 }
    BEGIN {
        x = 11
        printf "participant_id,age"; for (j = 1; j <= 12; j++) printf ",r%02d", j; print ""
        for (i = 1; i <= 40; i++) {
            age = 20 + int(50 * u()); printf "p%02d,%d", i, age
            for (j = 1; j <= 12; j++) printf ",%.4f", 3 - 0.01 * age + 0.5 * u(); print ""
        }
    }' >wide.csv
head -n 31 wide.csv >wide_old.csv
(head -n 1 wide.csv && tail -n 10 wide.csv) >wide_new.csv
"$KRONORM" fit -c wide_old.csv --use age -y wide_old.csv --targets 'r*' -o wide.safetensors -q
works "data as in training" score wide.safetensors -c wide_new.csv -y wide_new.csv -o fine
check "... are not doubted" sh -c "! grep -q 'cannot be right' '$logs/err'"
check "... by anybody" grep -q '"implausible": 0' fine/summary.json
awk -F, -v OFS=, '
    NR == 2 { for (j = 3; j <= NF; j++) $j = 0 }
    NR == 3 { for (j = 3; j <= NF; j++) $j = 2.5 }
    NR == 4 { for (j = 3; j <= NF; j++) $j *= 1000 }
    NR == 5 { for (j = 3; j <= NF; j++) $j /= 1000 }
    NR == 6 { for (j = 3; j <= NF; j++) $j += 2 }
    NR == 7 { for (j = 3; j <= 7; j++) $j += 2 }
    NR == 8 { for (j = 3; j <= NF; j++) $j = j == 3 ? 2.5 : "n/a" } 1' wide_new.csv >wrong.csv
works "data that cannot be right" score wide.safetensors -c wrong.csv -y wrong.csv -o wrong
check "... are told of once, with ids and reasons" grep -qxF "kronorm score: warning: wrong.csv: the maps of 5 of 10 participants are implausible (see column implausible): p31, p32, p33, p34, p35; reasons: blank or constant (2), far larger than in the training sample: other units? (1), far smaller than in the training sample: other units? (1), far from the expected value in more than half of the responses (1)" "$logs/err"
check "... person by person, and a lesion of less than half is none" test "$(cut_to 1,3 wrong/scored_participants.tsv)" = "participant_id why/\
p31 blank or constant/p32 blank or constant/p33 far larger than in the training sample: other units?/\
p34 far smaller than in the training sample: other units?/p35 far from the expected value in more than half of the responses/\
p36 n/a/p37 n/a/p38 n/a/p39 n/a/p40 n/a/"
check "... and counted" grep -q '"implausible": 5' wrong/summary.json
awk -F, -v OFS=, 'NR > 1 { $4 = $9 = 0 } 1' wide_new.csv >zeros.csv
works "columns that are 0 for everybody" score wide.safetensors -c zeros.csv -y zeros.csv -o zeros
check "... are told of by name" grep -qxF \
    "kronorm score: warning: zeros.csv: 2 responses are 0 for every participant, but they were not in the training sample; check the processing: r02, r07" "$logs/err"
awk -F, -v OFS=, 'NR > 1 { for (j = 3; j <= NF; j++) $j *= 10 } 1' wide_new.csv >units.csv
works "a file in other units" score wide.safetensors -c units.csv -y units.csv -o units
check "... is told of, with the first five" grep -qF "the maps of 10 of 10 participants are implausible (see column implausible): \
p31, p32, p33, p34, p35, ...; reasons: far larger than in the training sample: other units? (10)" "$logs/err"

# ---- summary.json: of what it is the summary
cp gaps.csv "gaps, it's.csv"
works "a summary" score model.safetensors -c "gaps, it's.csv" -y gaps_y.csv --match common --missing drop \
    --cases site=A --training-rows plain -o told
line=$(sed -n 's/^  "command": "\(.*\)",$/\1/p' told/summary.json | sed 's/\\\\/\\/g')
check "... has the command" test "$line" = "kronorm score model.safetensors --covariates 'gaps, it'\\''s.csv' \
--missing drop --responses gaps_y.csv --match common --cases site=A --training-rows plain --output told"
rm -r told
(PATH=$(dirname "$(realpath "$KRONORM")"):$PATH && eval "$line -q")
check "... which a shell takes as it is" test -s told/summary.json
check "... the label and what rows were matched by" test \
    "$(grep -E '^  "(cases|matched_by)"' told/summary.json | tr -d ' \n')" = '"cases":"site=A","matched_by":"participant_id",'
check "... who was dropped, as scored_participants.tsv has it" test "$(sed -n '/"dropped": {/,/}/p' told/summary.json | tr -d '\n ' | sed 's/,$//')" = \
    '"dropped":{"noresponses":1,"missingage":1,"nocovariates":1}'
check "... and counted" grep -q '^    "dropped": 3$' told/summary.json
check "... warnings as they were printed" grep -qF '"gaps, it'"'"'s.csv: rows that lack a covariate are excluded, 1 of 8"' \
    told/summary.json
hash_of() { sed -n "s/.*\"$2\": \"\(xxh64:[0-9a-f]*\)\".*/\1/p" "$1/summary.json"; } # folder, key
works "another run with the same files" score model.safetensors -c gaps.csv -y gaps_y.csv --match common \
    --missing drop -o again
for key in model covariates responses; do
    check "... has the same hash of the $key" test "$(hash_of again $key)" = "$(hash_of told $key)" -a \
        "$(hash_of told $key | wc -c)" -eq 23
done
sed 's/^s40,/&1/' gaps_y.csv >changed_y.csv
"$KRONORM" score model.safetensors -c gaps.csv -y changed_y.csv --match common --missing drop -o changed -q
check "... and a changed cell another one" test "$(hash_of changed responses)" != "$(hash_of told responses)" -a \
    "$(hash_of changed covariates)" = "$(hash_of told covariates)"
cut -d, -f 2- new_people.csv >nameless.csv
cut -d, -f 2- new_thickness.csv >nameless_y.csv
"$KRONORM" score model.safetensors -c nameless.csv -y nameless_y.csv -o nameless -q
check "rows without ids are matched by position, which a warning of the reading says in the summary too" test \
    "$(grep -cE '"matched_by": "position"|no IDs to match by' nameless/summary.json)" -eq 2
"$KRONORM" score model.safetensors -c regions.csv -y regions.csv -o table -q
check "... and one table by its rows" grep -q '"matched_by": "row"' table/summary.json
sed '2,4s/,[0-9]*,/,150,/' new_people.csv >beyond.csv
works "people far from training" score model.safetensors -c beyond.csv -y new_thickness.csv -o beyond
check "... are as many in the warning as in the counts" test \
    "$(sed -n 's/.*"extrapolated": \([0-9]*\).*/\1/p' beyond/summary.json)" -eq \
    "$(sed -n 's/.*far from the training sample (extrapolation_pct above 99) in \([0-9]*\) of 10 participants.*/\1/p' beyond/summary.json)"
check "... and named" grep -q 'far from the training sample.*: s31, s32, s33[;,]' beyond/summary.json

# ---- metrics of many responses
make_images
I="score images.safetensors -c study/test_participants.tsv"
"$KRONORM" fit -c study/train_participants.tsv -y study/train_images.txt --use age,sex -o images.safetensors -q
works "metrics of images" $I -y study/test_images.txt -o maps
check "... are maps too" test "$(cd maps && echo metrics*)" = "metrics.json metrics.tsv metrics_MSLL.nii.gz metrics_R2.nii.gz metrics_z2.nii.gz"
works "... with --split as without" $I -y study/test_images.txt --split -o parts
check "... the same" sh -c 'for m in R2 MSLL z2; do cmp parts/metrics_$m.nii.gz maps/metrics_$m.nii.gz || exit 1; done'
works "... not of another format" $I -y study/test_images.txt --format npy -o array
check "... which has the table" test "$(cd array && echo metrics*)" = "metrics.json metrics.tsv"
head -n 1 study/test_images.txt >study/one.txt
works "... nor of a single person" $I -y study/one.txt --match common -o one
check "... who has none to speak of" test "$(cd one && echo metrics*)" = "metrics.json metrics.tsv"
works "... nor of training people" score images.safetensors -c study/train_participants.tsv -y study/train_images.txt -o trained
check "... who have none" test "$(cd trained && echo metrics*)" = "metrics.json metrics.tsv"
mkdir there
: >there/metrics_z2.nii.gz
refused "a map of metrics that is there is kept" "there/metrics_z2.nii.gz already exists; use --force to replace it" \
    $I -y study/test_images.txt -o there
works "--write metrics" $I -y study/test_images.txt --write metrics -o only
check "... is no map of people" test "$(cd only && ls | tr '\n' ' ')" = \
    "abnormality.json abnormality.tsv metrics.json metrics.tsv metrics_MSLL.nii.gz metrics_R2.nii.gz metrics_z2.nii.gz scored_participants.json scored_participants.tsv summary.json "
check "... and changes no number" cmp only/abnormality.tsv maps/abnormality.tsv
if /usr/bin/python3 -c "import numpy as n; r = n.random.default_rng(1); n.save('many.npy', r.normal(size=(14, 100001)).astype('f4'))
n.save('edge.npy', n.load('many.npy')[:, 1:])" 2>/dev/null; then
    awk 'BEGIN { print "age"; for (i = 0; i < 14; i++) print 20 + 3 * i }' >ages.csv
    for name in many edge; do
        "$KRONORM" fit -c ages.csv -y $name.npy -P 1 --folds 2 --strip-ids -o $name.safetensors -q
    done
    works "more than 100,000 responses" score many.safetensors -c ages.csv -y many.npy -o many
    check "... have no table of metrics" test ! -e many/metrics.tsv -a -s many/summary.json
    check "... which is said" grep -qx 'metrics.tsv of 100001 responses is not written; --write z,metrics writes it' "$logs/err"
    works "... unless it is asked for" score many.safetensors -c ages.csv -y many.npy --write z,metrics -o asked
    check "... whole" test "$(wc -l <asked/metrics.tsv)" -eq 100002
    check "... beside the same z" cmp asked/z.npy many/z.npy
    works "100,000 of them" score edge.safetensors -c ages.csv -y edge.npy -o edge
    check "... have it unasked" test "$(wc -l <edge/metrics.tsv)" -eq 100001
else
    skip "more than 100,000 responses" "no numpy"
fi
# ---- ids that are no file names, or formulas
sed '2s/^[^,]*/=1+2/; 3s/^[^,]*/@home/' new_people.csv >formulas.csv
sed '2s/^[^,]*/=1+2/; 3s/^[^,]*/@home/' new_thickness.csv >formula_maps.csv
works "ids that look like formulas" score model.safetensors -c formulas.csv -y formula_maps.csv -o formulas
check "... are named in a warning" grep -qxF \
    "kronorm score: warning: formulas.csv: 2 IDs begin with =, +, - or @, so spreadsheet programs treat them as formulas; import the output tables as text: =1+2, @home" "$logs/err"
check "... and written unchanged" grep -q '^=1+2' formulas/abnormality.tsv
first=$(sed -n '2s/,.*//p' new_people.csv) upper=$(sed -n '2s/,.*//p' new_people.csv | tr '[:lower:]' '[:upper:]')
sed "3s/^[^,]*/$upper/" new_people.csv >cases.csv
sed "3s/^[^,]*/$upper/" new_thickness.csv >case_maps.csv
works "ids that differ in case" score model.safetensors -c cases.csv -y case_maps.csv -o cases -q
refused "... but not as names of files" \
    "cases.csv: IDs $upper and $first differ only in case, and some file systems cannot keep apart the files that --split writes; change an ID, or omit --split" \
    score model.safetensors -c cases.csv -y case_maps.csv --split -o cased
bell=$(printf 'a\007b')
sed "2s/^[^,]*/$bell/" new_people.csv >bells.csv
sed "2s/^[^,]*/$bell/" new_thickness.csv >bell_maps.csv
refused "an id with a control character" \
    "bells.csv line 2: the ID contains a control character, so --split cannot use it in a file name; change the ID, or omit --split" \
    score model.safetensors -c bells.csv -y bell_maps.csv --split -o belled
sed '1s/participant_id/sub_id/' people.csv >sub.csv
sed '1s/participant_id/subject_id/' thickness.csv >subject.csv
works "id columns of different usual names" fit -c sub.csv -y subject.csv -o named.safetensors
check "... are matched, and it says so" grep -qxF "the IDs of sub.csv are in sub_id, those of subject.csv in subject_id" "$logs/err"
done_testing
