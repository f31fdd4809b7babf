#!/bin/sh
# Where the deviations of groups overlap: what overlap writes and what it refuses.
. "$(dirname "$0")/lib.sh"

# 24 participants with three responses: 12 patients of whom 9 are low at the first, one of each is high at the second, nobody
# has the third; p20 has no group and p21 no value at the first.
by_hand() { # folder
    mkdir -p "$1"
    awk -v dir="$1" 'BEGIN {
        people = dir "/scored_participants.tsv"; z = dir "/z.csv"
        print "participant_id\tstatus\twhy\textrapolation_pct\tlabel\tage\tgroup" >people
        print "participant_id,a,b,c" >z
        for (i = 1; i <= 24; i++) {
            group = i > 12 ? "patient" : "control"; if (i == 20) group = "n/a"
            printf "p%02d\tused\tn/a\t50\tn/a\t%d\t%s\n", i, 20 + i, group >people
            a = i > 12 && i <= 22 && i != 20 ? -2.5 : 0.3; if (i == 21) a = "n/a"
            printf "p%02d,%s,%s,n/a\n", i, a, i % 12 == 1 ? 1.97 : 1.95 >z
        }
        print "p99\tdropped\tno responses\tn/a\tn/a\tn/a\tn/a" >people
    }'
}
line() { awk -F '\t' -v r="$2" -v g="${3-}" '$1 == r && (g == "" || $2 == g)' "$1" | tr '\t' ' '; } # file, response, group

by_hand scored
works "two groups of a table" overlap scored --by group -o two
check "... have shares, by those who have a value" test "$(line two/overlap.tsv a)" = "a control 12 0 0
a patient 10 0.8 0"
check "... of positive deviations too" test "$(line two/overlap.tsv b)" = "b control 12 0 0.08333333333333333
b patient 11 0 0.09090909090909091"
check "... and nothing where nobody has a value" test "$(line two/overlap.tsv c)$(line two/difference.tsv c)" = \
    "c control 0 n/a n/a
c patient 0 n/a n/ac n/a n/a n/a n/a n/a n/a"
check "... differences are the second group's less the first's" test "$(line two/difference.tsv a | cut -d ' ' -f 1,2,5)" = "a 0.8 0"
# one sided a = 8 of 8 of 10 among 22: C(12, 0) C(10, 8) / C(22, 8), and nothing on the other side is as large
check "... with an exact p behind the adjusted one" awk -F '\t' '$1 == "a" { e = 2 * 45 / 319770; d = $4 - e
    exit !(d * d < 1e-20) }' two/difference.tsv
check "... and p by permuting" awk -F '\t' '$1 == "a" { exit !($3 > 0 && $3 < 0.01) }' two/difference.tsv
check "... where nothing is there none" test "$(line two/difference.tsv b | cut -d ' ' -f 2-4)" = "0 1 1"
check "... who has no group is left out, with a warning" grep -qxF \
    "kronorm overlap: warning: 1 of 24 participants are excluded, because their group is missing" "$logs/err"
check "... and all is told" grep -qx 'Mapped 23 participants in 2 groups, 3 responses: two' "$logs/out"
check "... with those excluded" grep -qx '  Excluded  1 participant without a group' "$logs/out"
summary() { /usr/bin/python3 -c 'import json, sys
s = json.load(open(sys.argv[1])); print(eval(sys.argv[2]))' "$1" "$2"; }
check "the summary has groups and counts" test "$(summary two/summary.json \
    '[(g["group"], g["n"]) for g in s["groups"]], s["left_out"], s["participants"], s["threshold"], s["seed"], s["responses"]')" = \
    "([('control', 12), ('patient', 11)], 1, 23, 1.96, 1, 3)"
check "... what was found" test "$(summary two/summary.json \
    's["difference"]["of"], s["difference"]["minus"], s["difference"]["permutations"], s["difference"]["low"]["below_05"], s["difference"]["high"]["smallest_p"]')" = \
    "('patient', 'control', 5000, 1, 1.0)"
check "... the warnings and the line that does it again" test "$(summary two/summary.json 's["warnings"], s["command"]')" = \
    "(['1 of 24 participants are excluded, because their group is missing'], 'kronorm overlap scored --by group --output two')"
check "tables are all that is there" test "$(ls two | tr '\n' ' ')" = "difference.json difference.tsv overlap.json overlap.tsv summary.json "

works "once more, on two threads" overlap scored --by group --threads 2 -o again
check "... are the same bytes" cmp two/difference.tsv again/difference.tsv
works "another threshold" overlap scored --by group --threshold 0.2 --permutations 99 -o low
check "... counts more people" test "$(line low/overlap.tsv a control)" = "a control 12 0 1"
check "... and fewer permutations say less" awk -F '\t' '$1 == "a" { exit !($3 >= 0.01) }' low/difference.tsv

# ---- where groups come from
awk 'BEGIN { OFS = "\t"; print "subject_id", "dx"; for (i = 24; i > 0; i--) print sprintf("p%02d", i), i % 3; print "x", 9 }' >three.tsv
works "three groups of another table" overlap scored --by dx -c three.tsv -o three
check "... in the order of their numbers" test "$(line three/overlap.tsv b | cut -d ' ' -f 2,3 | tr '\n' /)" = "0 8/1 8/2 8/"
check "... have no differences, which is said" sh -c "test ! -e three/difference.tsv && grep -qx '3 groups: differences need exactly two' '$logs/err'"
check "... in the summary too" test "$(summary three/summary.json 's["difference"]')" = None
sed 's/patient/control/' scored/scored_participants.tsv >one.tsv
works "one group" overlap scored --by group -c one.tsv -o one
check "... has shares alone" test "$(ls one | tr '\n' ' ')" = "overlap.json overlap.tsv summary.json "
head -n 16 scored/scored_participants.tsv >few.tsv
works "a group of few" overlap scored --by group -c few.tsv -o few
check "... is warned of" grep -qxF "kronorm overlap: warning: group patient has only 3 participants, so its proportions are uncertain" "$logs/err"
works "a column of scored_participants.tsv in any case" overlap scored --by Group -o any

# ---- what is refused
refused "a column that is not there" \
    "scored/scored_participants.tsv has no column 'grp' (named in --by; if another table has it, name that table in --covariates); did you mean group?" \
    overlap scored --by grp -o no
refused "... nor in the other table" "three.tsv has no column 'grp' (named in --by); its columns are subject_id, dx" \
    overlap scored --by grp -c three.tsv -o no
refused "a folder that is not there" "nowhere/scored_participants.tsv cannot be opened: no such file or directory" overlap nowhere --by group -o no
mkdir bare
cp scored/scored_participants.tsv bare
refused "a folder without z" "bare has no z maps; run score with --write z" overlap bare --by group -o no
by_hand doubled
cp doubled/z.csv doubled/z.npy
refused "z in two formats" "doubled has the z maps z.csv, z.npy; there must be one file, or one per hemisphere" \
    overlap doubled --by group -o no
by_hand short
sed -i '$d' short/z.csv
refused "fewer maps than people" "short/z.csv has 23 maps, but there are 24 participants in scored_participants.tsv; score again into a new folder" overlap short --by group -o no
by_hand mixed
sed -i 's/^p03,/p30,/' mixed/z.csv
refused "other people" "mixed/z.csv line 4: participant_id is 'p30', but 'p03' in scored_participants.tsv; score again into a new folder" overlap mixed --by group -o no
by_hand words
sed -i 's/^p03,0.3/p03,low/' words/z.csv
refused "z that is no number" "words/z.csv line 4: a is 'low', but must be a number" overlap words --by group -o no
mkdir strange
printf 'participant_id\tother\np01\t1\n' >strange/scored_participants.tsv
refused "another table of people" "strange/scored_participants.tsv has no column 'status' (written by score); its columns are participant_id, other" \
    overlap strange --by group -o no
printf 'participant_id\tgroup\nq1\ta\n' >others.tsv
refused "a table of other people" "others.tsv and scored/scored_participants.tsv have no IDs in common (the first are q1 and p01); name the ID column in --id" \
    overlap scored --by group -c others.tsv -o no
printf 'name\tgroup\np01\ta\n' >nobody.tsv
refused "a table without ids" "nobody.tsv has no ID column; name it in --id" overlap scored --by group -c nobody.tsv -o no
works "... whose ids are named" overlap scored --by group -c nobody.tsv --id name -o named
printf 'participant_id\tgroup\np01\ta\np01\tb\n' >both.tsv
refused "a person of two groups" "both.tsv: group of p01 is 'a' on line 2 and 'b' on line 3; a participant must have one value" \
    overlap scored --by group -c both.tsv -o no
printf 'participant_id\tgroup\np01\tn/a\n' >unknown.tsv
refused "nobody with a group" "unknown.tsv: group is missing for every scored participant" overlap scored --by group -c unknown.tsv -o no
awk 'BEGIN { print "participant_id,status,why,age" ; for (i = 1; i <= 60; i++) print "p" i ",used,n/a," i + 0.5 }' | tr , '\t' >ages.tsv
mkdir ages
cp ages.tsv ages/scored_participants.tsv
awk 'BEGIN { print "participant_id,a"; for (i = 1; i <= 60; i++) print "p" i "," i / 10 }' >ages/z.csv
refused "a column that is no group" "ages/scored_participants.tsv: age has more than 50 values, too many for groups" overlap ages --by age -o no
misused "the scored folder itself" ": --output is the scored folder; choose another one" overlap scored --by group -o ./scored --force
misused "no folder" " overlap: the name of a scored folder is missing (see 'kronorm overlap --help')" overlap --by group -o no
misused "no column" " overlap: option --by is required (see 'kronorm overlap --help')" overlap scored -o no
misused "two folders" " overlap: 'bare' belongs to no option (see 'kronorm overlap --help')" overlap scored bare --by group -o no
misused "no permutations" " overlap: --permutations is 0; it must be 1 to 1000000 (see 'kronorm overlap --help')" overlap scored --by group --permutations 0 -o no
refused "results that are there" "two/summary.json already exists; use --force to replace it" overlap scored --by group -o two
works "... are replaced by --force" overlap scored --by group --threshold 0.2 --permutations 99 --force -o two
check "... by the new ones" cmp two/difference.tsv low/difference.tsv
cp three.tsv any/overlap.tsv
refused "an input among the outputs" "any/overlap.tsv is an input of this run, so it is not replaced; choose another output" \
    overlap scored --by dx -c any/overlap.tsv --force -o any
by_hand visits
sed -i 's/^p02/p01/' visits/scored_participants.tsv visits/z.csv
works "several rows of one person" overlap visits --by group -o visits.out
check "... are warned of" grep -qxF "kronorm overlap: warning: visits/scored_participants.tsv: some IDs occur in several rows, which count as different participants; score one row per participant" "$logs/err"

# ---- what score writes
make_tables
awk -F, 'BEGIN { OFS = "," } NR == 1 { print $1, "group"; next } { print $1, NR % 3 ? "x" : "y" }' people.csv >groups.csv
works "fit" fit -c people.csv -y thickness.csv --use age,sex,site -o model.safetensors
works "score" score model.safetensors -c people.csv -y thickness.csv -o s
works "a table that was scored" overlap s --by group -c groups.csv --threshold 1 -o s.out
works "score as split files" score model.safetensors -c people.csv -y thickness.csv --split -o s.split
works "... the same of them" overlap s.split --by group -c groups.csv --threshold 1 -o s.split.out
check "... are the same shares" cmp s.out/overlap.tsv s.split.out/overlap.tsv
check "... and p" cmp s.out/difference.tsv s.split.out/difference.tsv
works "score as an array" score model.safetensors -c people.csv -y thickness.csv --format npy -o s.npy
works "... the same of it" overlap s.npy --by group -c groups.csv --threshold 1 -o s.npy.out
check "... are the same shares, by number" test "$(cut -f 2- s.npy.out/overlap.tsv)$(cut -f 1 s.npy.out/difference.tsv | tr '\n' ' ')" = \
    "$(cut -f 2- s.out/overlap.tsv)response 1 2 3 4 "
works "a covariate is a group too" overlap s --by site -o s.site

make_images
c=study/test_participants.tsv
works "fit of images" fit -c study/train_participants.tsv -y study/train_images.txt -m study/mask.nii.gz -P 3 -o images.safetensors
works "score of images" score images.safetensors -c $c -y study/test_images.txt -o i
works "two groups of images" overlap i --by group -c $c --permutations 200 -o i.out
check "... are maps" test "$(ls i.out | tr '\n' ' ')" = "difference_high.nii.gz difference_high_p.nii.gz difference_high_p_fdr.nii.gz \
difference_low.nii.gz difference_low_p.nii.gz difference_low_p_fdr.nii.gz overlap_control_high.nii.gz overlap_control_low.nii.gz \
overlap_control_n.nii.gz overlap_patient_high.nii.gz overlap_patient_low.nii.gz overlap_patient_n.nii.gz summary.json "
maps() { PYTHONDONTWRITEBYTECODE=1 /usr/bin/python3 "$here/../python/overlap_maps.py" "$@"; }
if /usr/bin/python3 -c 'import nibabel' 2>/dev/null; then
    check "... of the shares of z" maps i/z.nii.gz i.out .nii.gz $c
else
    skip "... of the shares of z" "nibabel is not there"
fi
works "split images" score images.safetensors -c $c -y study/test_images.txt --split -o i.split
works "... the same of them" overlap i.split --by group -c $c --permutations 200 -o i.split.out
check "... are the same maps" cmp i.out/difference_low_p.nii.gz i.split.out/difference_low_p.nii.gz
sed 's/patient/a\/b/' $c >slash.tsv
refused "a group that is no file name" "group 'a/b' cannot be part of a file name, because it contains a slash" overlap i --by group -c slash.tsv -o no
refused "maps that are there" "i.out/summary.json already exists; use --force to replace it" overlap i --by group -c $c -o i.out
rm i.out/summary.json
refused "... one of them" "i.out/overlap_control_n.nii.gz already exists; use --force to replace it" overlap i --by group -c $c -o i.out
done_testing
