#!/bin/sh
# Centile curves: what centiles writes, what it refuses, and that scipy comes to the same by params.tsv alone.
. "$(dirname "$0")/lib.sh"
oracle() { PYTHONDONTWRITEBYTECODE=1 /usr/bin/python3 "$here/../python/centiles_oracle.py" "$@"; }
summary() { /usr/bin/python3 -c 'import json, sys
s = json.load(open(sys.argv[1])); print(eval(sys.argv[2]))' "$1" "$2"; }
rows() { awk 'END { print NR - 1 }' "$1"; }
levels() { column "$1" "$2" | sort -u | tr '\n' ' '; } # of a column

make_tables
works "fit" fit -c people.csv -y thickness.csv --use age,sex,site -o model.safetensors

works "curves over age" centiles model.safetensors --over age -o c
check "... are tables" test "$(ls c | tr '\n' ' ')" = "centiles.json centiles.tsv params.json params.tsv summary.json "
check "... of every response, both sexes, 60 ages, 5 centiles" test "$(rows c/centiles.tsv)" = $((4 * 2 * 60 * 5))
check "... with these columns" test "$(head -n 1 c/centiles.tsv | tr '\t' ' ')" = \
    "response age sex site centile value lower upper band extrapolation_pct"
check "... and parameters with these" test "$(head -n 1 c/params.tsv | tr '\t' ' ')" = \
    "response age sex site mean sd a b loc sc nu"
check "... sites at their mean" test "$(levels c/centiles.tsv site)$(levels c/centiles.tsv sex)" = "mean F M "
check "... from the youngest to the oldest" test "$(column c/centiles.tsv age | sort -un | sed -n '1p;$p' | tr '\n' ' ')" = "20 69 "
check "... all is told" test "$(cat "$logs/out")" = "Computed 5 centiles of 4 responses at 60 values of age, 2 curves each: c"
check "... and that such bands are narrow" grep -qF "2.5 to 4.5 times too narrow at the ends of an age range; --bands jackknife refits the model" "$logs/err"
check "... in the summary too" test "$(summary c/summary.json \
    's["over"], s["curves"], s["bands"]["by"], "2.5 to 4.5" in s["bands"]["note"], s["nu"], s["responses"], s["command"]')" = \
    "('age', ['sex=F,site=mean', 'sex=M,site=mean'], 'model', True, 39.0, 4, 'kronorm centiles model.safetensors --over age --output c')"
if /usr/bin/python3 -c 'import scipy' 2>/dev/null; then
    check "values follow from params.tsv by scipy" oracle values c
else
    skip "values follow from params.tsv by scipy" "scipy is not there"
fi
works "once more, on two threads" centiles model.safetensors --over age --threads 2 -o again
check "... the same bytes" cmp c/centiles.tsv again/centiles.tsv

# ---- where the curves are
works "at a site and a sex" centiles model.safetensors --over Age --at sex=F,SITE=A --grid 8 --centiles 2.5,50 --targets 'lh_*' --bands none -o at
check "... one curve" test "$(levels at/centiles.tsv sex)$(levels at/centiles.tsv site)$(rows at/centiles.tsv)" = "F A $((2 * 8 * 2))"
check "... of two responses, two centiles" test "$(levels at/centiles.tsv response)$(levels at/centiles.tsv centile)" = "lh_a lh_b 2.5 50 "
check "... without bands" test "$(levels at/centiles.tsv lower)$(levels at/centiles.tsv band)" = "n/a none "

# Participants at the very points of these curves: z by score, and by params.tsv alone.
awk -F '\t' 'BEGIN { print "participant_id,age,sex,site" >"at.csv"; print "participant_id,lh_a,lh_b,rh_a,rh_b" >"aty.csv" }
    NR > 1 && $1 == "lh_a" { n++; print "n" n "," $2 "," $3 "," $4 >"at.csv"
    print "n" n "," $5 + n / 50 "," $5 - n / 40 ",2.5,2.2" >"aty.csv" }' at/params.tsv
works "score of people there" score model.safetensors -c at.csv -y aty.csv -o scored
works "... and their curves" centiles model.safetensors --over age --at sex=F,site=A --grid 8 -o there
if /usr/bin/python3 -c 'import scipy' 2>/dev/null; then
    check "z of score follow from params.tsv by scipy" oracle z there scored/z.csv at.csv aty.csv
else
    skip "z of score follow from params.tsv by scipy" "scipy is not there"
fi

# ---- noise that varies and is skewed: every part of the calibration
awk 'function u() { x = (x * 16807) % 2147483647; return x / 2147483647 }
    function n() { return u() + u() + u() + u() + u() + u() + u() + u() + u() + u() + u() + u() - 6 }
    BEGIN { x = 5; print "participant_id,age,tiv,sex,a,b"
        for (i = 1; i <= 150; i++) { age = 20 + 60 * u(); s = u() < 0.5 ? "F" : "M"; tiv = 1500 + 100 * n()
            printf "p%03d,%.2f,%.1f,%s,%.5f,%.5f\n", i, age, tiv, s, 5 + tiv / 500 - age / 40 + age / 60 * exp(0.5 * n()), 3 + age / 50 + exp(0.6 * n()) } }' >law.csv
works "fit of skewed noise" fit -c law.csv -y law.csv --use age,tiv,sex --targets a,b --calibrate full -o law.safetensors
works "its curves" centiles law.safetensors --over age --grid 9 --centiles 0.1,5,50,95,99.9 -o law
check "... have skew and tails" awk -F '\t' 'NR > 1 && ($7 == 0 || $8 == 1) { bad = 1 } END { exit bad }' law/params.tsv
check "... wider where people are older" awk -F '\t' '$1 == "a" && $4 == "F" { if (!first) first = $6; last = $6 } END { exit !(last > 1.5 * first) }' law/params.tsv
check "... a number at its mean" test "$(levels law/centiles.tsv tiv | wc -w)" = 1
if /usr/bin/python3 -c 'import scipy' 2>/dev/null; then
    check "... by scipy" oracle values law
else
    skip "... by scipy" "scipy is not there"
fi
works "far from training" centiles law.safetensors --over age --at tiv=5000 --grid 3 -o far
check "... is told of" grep -qF "kronorm centiles: warning: tiv = 5000 is outside " "$logs/err"
check "... and seen in the table" test "$(levels far/centiles.tsv extrapolation_pct)$(levels far/centiles.tsv tiv)" = "100 5000 "

# ---- models of other kinds
works "fit without calibration" fit -c people.csv -y thickness.csv --use age,sex --calibrate none -o none.safetensors
works "... has normal centiles" centiles none.safetensors --over age --grid 3 -o none
check "... without nu" test "$(levels none/params.tsv nu)$(levels none/params.tsv a)$(levels none/params.tsv b)" = "n/a 0 1 "
if /usr/bin/python3 -c 'import scipy' 2>/dev/null; then
    check "... by scipy" oracle values none
else
    skip "... by scipy" "scipy is not there"
fi
make_noise
works "fit of what age does not tell" fit -c noise.csv -y noise.csv --use age --targets a,b,c -o noise.safetensors
works "... has flat curves" centiles noise.safetensors --over age --grid 4 --bands none -o noise
check "... the mean is one" test "$(levels noise/params.tsv mean | wc -w)" = 3
sed 's/,M,/,F,/' people.csv >women.csv
works "fit of one sex" fit -c women.csv -y thickness.csv --use age,sex -o women.safetensors
works "... has one curve, of that level" centiles women.safetensors --over age --grid 4 -o women
check "... named" test "$(levels women/centiles.tsv sex)$(rows women/params.tsv)" = "F 16"
works "fit by a sum of kernels" fit -c people.csv -y thickness.csv --use age,sex,site --sample-kernel linear+se -o sum.safetensors
works "... has curves too" centiles sum.safetensors --over age --grid 4 --at site=mean -o sum
check "... at the average site" test "$(levels sum/centiles.tsv site)" = "mean "
works "each response alone" fit -c people.csv -y thickness.csv --use age,sex --method stgpr -o alone.safetensors
works "... has bands" centiles alone.safetensors --over age --grid 4 -o alone
check "... by the model" test "$(levels alone/centiles.tsv band)" = "model "
works "iso noise" fit -c people.csv -y thickness.csv --use age,sex --noise iso -P 2 -o iso.safetensors
works "... has none" centiles iso.safetensors --over age --grid 4 -o iso
check "... and says so" test "$(levels iso/centiles.tsv band)" = "none "
misused "... and refuses them" ": --bands model needs structured noise, but the model has iso noise; use --bands none" \
    centiles iso.safetensors --over age --bands model -o no
misused "... also those of people who are given" ": --bands jackknife needs structured noise, but the model has iso noise; use --bands none" \
    centiles iso.safetensors --over age -c people.csv -y thickness.csv -o no

# ---- bands by jackknife
works "bands by jackknife" centiles model.safetensors --over age --grid 5 -c people.csv -y thickness.csv -o jack
check "... are named" test "$(levels jack/centiles.tsv band)$(summary jack/summary.json 's["bands"]["by"]')" = "jackknife jackknife"
works "... and by the model" centiles model.safetensors --over age --grid 5 -o own
check "... are about the same curves" test "$(cut -f 1-6 jack/centiles.tsv)" = "$(cut -f 1-6 own/centiles.tsv)"
check "... and not the same bands" sh -c "test \"\$(cut -f 7 jack/centiles.tsv | sed 1d | sort -u | wc -l)\" -gt 10 && ! cmp -s jack/centiles.tsv own/centiles.tsv"
works "... of each response alone" centiles alone.safetensors --over age --grid 3 --targets lh_a -c people.csv -y thickness.csv -o jackalone
awk -F, 'BEGIN { OFS = "," } { print $1, $5, $3, NR == 1 ? "extra" : NR / 7 + 0.01, $2, $4 }' thickness.csv >turned.csv
works "... of a table with other columns in another order" centiles model.safetensors --over age --grid 5 -c people.csv -y turned.csv -o turned
check "... which are the same bands" cmp jack/centiles.tsv turned/centiles.tsv
head -n 40 people.csv >fewer.csv
head -n 40 thickness.csv >fewery.csv
refused "other people than those of training" "fewery.csv has 39 participants, but the model was fitted to 40; --bands jackknife needs all of them" \
    centiles model.safetensors --over age -c fewer.csv -y fewery.csv -o no
sed 's/^s07/s99/' people.csv >renamed.csv
sed 's/^s07/s99/' thickness.csv >renamedy.csv
refused "... somebody else" "renamedy.csv: training participant s07 is missing; --bands jackknife needs all of them" \
    centiles model.safetensors --over age -c renamed.csv -y renamedy.csv -o no
awk -F, 'BEGIN { OFS = "," } NR > 1 { $3 = $3 * 25.4 } { print }' thickness.csv >inches.csv
kronorm centiles model.safetensors --over age -c people.csv -y inches.csv -o no
check "... their values in other units" sh -c "test $code = 1 && ! test -e no && grep -q '^kronorm: inches.csv: the mean of lh_b is [0-9.]*, but was [0-9.]* when the model was fitted; --bands jackknife needs the same values$' '$logs/err'"
misused "jackknife without people" ": --bands jackknife needs the --covariates and --responses of the training sample" \
    centiles model.safetensors --over age --bands jackknife -o no
works "fit of some rows" fit -c regions.csv -y regions.csv --use age,sex --targets '*h_*' --where 'age<60' -o some.safetensors
works "... finds them again by what the model remembers" centiles some.safetensors --over age --grid 3 -c regions.csv -y regions.csv -o some

works "a model to give away" export model.safetensors -o shared.safetensors
refused "... does not know how it was fitted" "--bands jackknife: a de-identified model does not keep all options of its fit; use the model that it was exported from" \
    centiles shared.safetensors --over age -c people.csv -y thickness.csv -o no

# ---- participants among the curves
works "people" centiles model.safetensors --over age --grid 4 --at site=A --people at.csv -y aty.csv -o points
check "... a row for each response" test "$(rows points/points.tsv)$(head -n 1 points/points.tsv | tr '\t' ' ')" = \
    "32participant_id age sex site response value z centile"
check "... keep their values where the curves are" awk -F '\t' 'NR == FNR { split($0, c, ","); y[c[1] "lh_a"] = c[2]; next }
    $5 == "lh_a" { d = $6 - y[$1 "lh_a"]; if (d * d > 1e-10) bad = 1 } END { exit bad }' aty.csv points/points.tsv
check "... and have the z of score" test "$(awk -F '\t' '$5 == "lh_b" { print $1 "," $7 }' points/points.tsv)" = \
    "$(sed 1d scored/z.csv | cut -d , -f 1,3)"
works "both sites at their mean" centiles model.safetensors --over age --grid 4 --people people.csv -y thickness.csv -o mean
check "... a person keeps sex and age" test "$(awk -F '\t' '$1 == "s01" && $5 == "lh_a" { print $2, $3, $4 }' mean/points.tsv)" = \
    "$(awk -F, '$1 == "s01" { print $2, $3, "mean" }' people.csv)"
sed '2s/,A$/,Z/; 4s/^n3,.*/n3,,F,A/' at.csv >odd.csv
works "people who are odd" centiles model.safetensors --over age --grid 2 --people odd.csv -y aty.csv --missing drop --unseen prior -o odd
check "... are told of once" test "$(grep -c 'lack a covariate' "$logs/err") $(grep -c 'a site that is not in the training data (Z)' "$logs/err")" = "1 1"
check "... and in the summary" test "$(summary odd/summary.json \
    '[sum(x in w for w in s["warnings"]) for x in ("lack a covariate", "not in the training data (Z)")]')" = "[1, 1]"
works "people and jackknife together, of one file" centiles model.safetensors --over age --grid 3 --targets lh_a -c people.csv --people fewer.csv \
    -y thickness.csv --match common -o both
check "... both are there" test "$(levels both/centiles.tsv band)$(rows both/points.tsv)" = "jackknife 39"

# ---- what is refused
misused "a covariate that is not there" ": --over: the model has no covariate 'weight'; it has age, sex, site" \
    centiles model.safetensors --over weight -o no
misused "... to be at" ": --at: the model has no covariate 'group'; it has age, sex, site" \
    centiles model.safetensors --over age --at group=x -o no
misused "a category to go along" ": --over: sex is a category, but must be a number" centiles model.safetensors --over sex -o no
misused "a level that is not there" ": --at: sex is 'X', but must be F, M or mean" centiles model.safetensors --over age --at sex=X -o no
misused "a site that is not there" ": --at: site is 'Z', but must be A, B or mean" centiles model.safetensors --over age --at site=Z -o no
misused "a number that is none" ": --at: tiv is 'big', but must be a number or mean" centiles law.safetensors --over age --at tiv=big -o no
misused "what curves are over, held" ": --at has age, which is already the axis of the curves" centiles model.safetensors --over age --at age=50 -o no
misused "a covariate twice" ": --at has sex twice" centiles model.safetensors --over age --at sex=F,Sex=M -o no
misused "a level alone" ": --at contains 'F', but its parts must be COVARIATE=VALUE" centiles model.safetensors --over age --at F -o no
misused "centiles that are none" ": --centiles has 100; each must be above 0 and below 100" centiles model.safetensors --over age --centiles 5,100 -o no
misused "... words" ": --centiles is 'all', but must be up to 32 numbers between 0 and 100" centiles model.safetensors --over age --centiles all -o no
misused "... twice" ": --centiles has 5 twice" centiles model.safetensors --over age --centiles 5,5 -o no
misused "one point" " centiles: --grid is 1; it must be 2 to 10000 (see 'kronorm centiles --help')" centiles model.safetensors --over age --grid 1 -o no
misused "responses that are not there" ": --targets: no response of the model matches 'xh_*'" \
    centiles model.safetensors --over age --targets 'lh_*,xh_*' -o no
misused "too long a table" ": 4 responses at 20000 points and 32 centiles make a table of 2560000 rows, but at most 2000000 are allowed; select responses with --targets, or use a smaller --grid" \
    centiles model.safetensors --over age --grid 10000 --centiles "$(seq -s , 1 3 94)" -o no
misused "no covariate" " centiles: option --over is required (see 'kronorm centiles --help')" centiles model.safetensors -o no
misused "people without responses" ": --participants needs --responses" centiles model.safetensors --over age --people at.csv -o no
misused "responses of nobody" ": --responses needs --participants or --covariates" centiles model.safetensors --over age -y aty.csv -o no
awk -F, 'BEGIN { OFS = "," } { print $0, NR == 1 ? "tesla" : 3 }' people.csv >tesla.csv
works "fit with a constant" fit -c tesla.csv -y thickness.csv --use age,tesla -o tesla.safetensors
refused "a constant to go along" "--over: tesla was 3 in the whole training sample, so there is no curve over it" centiles tesla.safetensors --over tesla -o no
refused "results that are there" "c/summary.json already exists; use --force to replace it" centiles model.safetensors --over age -o c
works "... are replaced by --force" centiles model.safetensors --over age --grid 3 --force -o c
tr , '\t' <at.csv >c/params.tsv
refused "an input among the outputs" "c/params.tsv is an input of this run, so it is not replaced; choose another output" \
    centiles model.safetensors --over age --people c/params.tsv -y aty.csv --force -o c

# ---- sites: 6 of training that lie 0.5 apart and spread differently, 20 participants each, and a seventh with controls
awk 'function u() { x = (x * 16807) % 2147483647; return x / 2147483647 }
    function n() { return u() + u() + u() + u() + u() + u() + u() + u() + u() + u() + u() + u() - 6 }
    BEGIN { x = 9; for (s = 1; s <= 7; s++) { file = s == 7 ? "new.csv" : "sites.csv"
        if (s == 1 || s == 7) print "participant_id,age,site,scanner,a,b,c" >file
        for (i = 1; i <= 20; i++) { age = 20 + 60 * u(); e = (s - 3.5) / 2; w = s % 2 ? 0.15 : 0.4
            printf "p%d_%02d,%.2f,S%d,%s,%.4f,%.4f,%.4f\n", s, i, age, s, s % 2 ? "x" : "y", 5 - age / 40 + e + w * n(), 3 + age / 60 - e + w * n(),
                2 + age / 90 + w * n() >file } } }'
works "fit of six sites" fit -c sites.csv -y sites.csv --use age,site --targets a,b,c --calibrate full -o sites.safetensors
works "... at each of them" centiles sites.safetensors --over age --at site=S1 --grid 2 --centiles 50 -o site1
works "... and at the last" centiles sites.safetensors --over age --at site=S6 --grid 2 --centiles 50 -o site6
works "... and at their mean" centiles sites.safetensors --over age --grid 2 --centiles 50 --bands none -o sitem
first() { awk -F '\t' '$1 == "a" { print $5; exit }' "$1/centiles.tsv"; }
check "the mean is between, 1.25 from both" awk -v a="$(first site1)" -v b="$(first site6)" -v m="$(first sitem)" \
    'BEGIN { exit !(m - a > 0.9 && m - a < 1.6 && b - m > 0.9 && b - m < 1.6) }'
awk -F '\t' 'BEGIN { print "participant_id,age,site" >"at1.csv"; print "participant_id,a,b,c" >"aty1.csv" }
    NR > 1 && $1 == "a" { n++; print "n" n "," $2 "," $3 >"at1.csv"; print "n" n "," $4 + n / 9 ",4.1,3.2" >"aty1.csv" }' site1/params.tsv
works "people of a site" score sites.safetensors -c at1.csv -y aty1.csv -o scored1
if /usr/bin/python3 -c 'import scipy' 2>/dev/null; then
    check "... have the z of its curves" oracle z site1 scored1/z.csv at1.csv aty1.csv
else
    skip "... have the z of its curves" "scipy is not there"
fi
check "the noise of sites is their own" awk -v a="$(awk -F '\t' '$1 == "c" { print $5; exit }' site1/params.tsv)" \
    -v b="$(awk -F '\t' '$1 == "c" { print $5; exit }' site6/params.tsv)" 'BEGIN { exit !(b > 1.5 * a) }'
works "adapt" adapt sites.safetensors -c new.csv -y new.csv -o adapted.safetensors
misused "a site that the model was not adapted to" ": --at: site is 'S7', but must be S1, S2, S3, S4, S5, ... or mean" \
    centiles sites.safetensors --over age --at site=S7 -o no
works "a site that it was adapted to" centiles adapted.safetensors --over age --at site=S7 --grid 4 -o site7
check "... is named" test "$(levels site7/params.tsv site)$(summary site7/summary.json 's["curves"]')" = "S7 ['site=S7']"
awk -F '\t' 'BEGIN { print "participant_id,age,site" >"at7.csv"; print "participant_id,a,b,c" >"aty7.csv" }
    NR > 1 && $1 == "a" { n++; print "n" n "," $2 "," $3 >"at7.csv"; print "n" n "," $4 + n / 9 ",4.1,3.2" >"aty7.csv" }' site7/params.tsv
works "people of it" score adapted.safetensors -c at7.csv -y aty7.csv -o scored7
if /usr/bin/python3 -c 'import scipy' 2>/dev/null; then
    check "... have the z of its curves" oracle z site7 scored7/z.csv at7.csv aty7.csv
else
    skip "... have the z of its curves" "scipy is not there"
fi
works "bands there by jackknife" centiles adapted.safetensors --over age --at site=S7 --grid 2 --targets a -c sites.csv -y sites.csv -o jack7
works "... and at the mean of sites" centiles sites.safetensors --over age --grid 2 --targets a -c sites.csv -y sites.csv -o jackm
works "fit of sites and scanners" fit -c sites.csv -y sites.csv --use age,site,scanner --targets a,b,c -o both.safetensors
works "... at their mean" centiles both.safetensors --over age --grid 2 -o bothm
check "... neither has curves of its own" test "$(rows bothm/params.tsv)$(levels bothm/params.tsv scanner)" = "6mean "
works "... at a site and a scanner" centiles both.safetensors --over age --at site=S1,scanner=x --grid 2 -o boths
misused "... one of the two" ": --at: site and the other batch effects together define a site; give a combination that occurs in the training sample, or set all of them to mean" \
    centiles both.safetensors --over age --at site=S1 -o no
works "adapt to a site with a scanner that training had" adapt both.safetensors -c new.csv -y new.csv -o both7.safetensors
works "... a site of training" centiles both7.safetensors --over age --at site=S1,scanner=x --grid 2 -o boths7
check "... is where it was" cmp boths/params.tsv boths7/params.tsv
works "... the new one" centiles both7.safetensors --over age --at site=S7,scanner=x --grid 2 -o both7
check "... is another" sh -c "test '$(levels both7/params.tsv site)$(levels both7/params.tsv scanner)' = 'S7 x ' && ! cmp -s boths/params.tsv both7/params.tsv"
misused "... with a scanner that it does not have" ": --at: site and the other batch effects together define a site; give a combination that occurs in the training sample, or set all of them to mean" \
    centiles both7.safetensors --over age --at site=S7,scanner=y -o no

# ---- images
make_images
works "fit of images" fit -c study/train_participants.tsv -y study/train_images.txt -m study/mask.nii.gz --use age,sex -P 3 -o images.safetensors
works "curves of images" centiles images.safetensors --over age --grid 3 -o i
check "... are maps" test "$(ls i | tr '\n' ' ')" = "centile_05.nii.gz centile_25.nii.gz centile_50.nii.gz centile_75.nii.gz centile_95.nii.gz grid.json grid.tsv params_mean.nii.gz params_sd.nii.gz summary.json "
check "... a volume a point" test "$(rows i/grid.tsv)$(head -n 1 i/grid.tsv | tr '\t' ' ')" = "6volume age sex extrapolation_pct"
check "... whose size is told before" grep -qx '6 points, [0-9]* responses; 7 maps of each point, [0-9.]* MB' "$logs/err"
works "... with bands" centiles images.safetensors --over age --grid 3 --at sex=F --bands model --centiles 2.5,50 -o ib
if /usr/bin/python3 -c 'import scipy, nibabel' 2>/dev/null; then
    check "... by scipy" oracle maps i
    check "... and with bands" oracle maps ib
else
    skip "... by scipy" "scipy or nibabel is not there"
    skip "... and with bands" "scipy or nibabel is not there"
fi
works "people among images" centiles images.safetensors --over age --grid 2 --people study/test_participants.tsv -y study/test_images.txt -o ip
check "... are maps with a table" test "$(ls ip | grep points | tr '\n' ' ')$(rows ip/points.tsv)" = "points.json points.tsv points_value.nii.gz points_z.nii.gz 9"
works "bands of images by jackknife" centiles images.safetensors --over age --grid 2 --at sex=F --centiles 50 -c study/train_participants.tsv \
    -y study/train_images.txt -o ij
check "... are maps too" test -e ij/centile_50_lower.nii.gz
if /usr/bin/python3 -c 'import nibabel' 2>/dev/null; then
    PYTHONDONTWRITEBYTECODE=1 /usr/bin/python3 "$here/../python/centiles_oracle.py" half study
    works "fit by a mask that leaves half of the brain out" fit -c study/train_participants.tsv -y study/train_images.txt -m study/half.nii.gz \
        --use age,sex -P 2 -o half.safetensors
    works "... its bands by jackknife" centiles half.safetensors --over age --grid 2 --at sex=F --centiles 50 -c study/train_participants.tsv \
        -y study/train_images.txt -o half
    works "... of images that have nothing there" fit -c study/train_participants.tsv -y study/half_images.txt --use age,sex -P 2 -o blank.safetensors
    works "... theirs" centiles blank.safetensors --over age --grid 2 --at sex=F --centiles 50 -c study/train_participants.tsv \
        -y study/half_images.txt -o blank
    check "... are of the same voxels" cmp half/centile_50_lower.nii.gz blank/centile_50_lower.nii.gz
else
    skip "bands by a mask are of its voxels" "nibabel is not there"
fi
misused "some voxels" ": --targets is for tables, but the responses of the model are images" centiles images.safetensors --over age --targets '1,*' -o no
done_testing
