#!/bin/sh
# What groups, codes, constants, slopes by level and plain sums do to a fit and to those it scores.
. "$(dirname "$0")/lib.sh"
make_visits

train() { # promise, model, options ...
    promise=$1 model=$2
    shift 2
    works "$promise" fit -c visits.csv -y visits.csv --targets a,b,c,d -o "$model" "$@"
}
said() { grep -qF -e "$1" "$logs/err"; }
shows() { # model, expression: a line of info
    kronorm info "$1"
    grep -q -e "$2" "$logs/out"
}
lacks() { ! shows "$1" "$2"; }
same() { cmp -s "$1" "$2"; }
differ() { ! cmp -s "$1" "$2"; }

# ---- rows that share noise
train "ids that repeat" ids.safetensors --use age,sex
check "... are groups, and that is said" \
    said "visits.csv: IDs repeat; 60 rows are of 30 participants, and the rows of one participant share noise"
check "... in info too" shows ids.safetensors "^  groups: 30 groups of repeated measures in 60 rows, by repeated IDs; .*% of the noise"
train "a column of groups" family.safetensors --use age,sex --group family
check "... is said" said "visits.csv: 60 rows form 15 groups that share noise, one per family"
check "... in info too" shows family.safetensors "^  groups: 15 groups of repeated measures in 60 rows, by family; "
train "no groups" none.safetensors --use age,sex --group none
check "... with a warning where ids repeat" \
    said "kronorm fit: warning: visits.csv: some IDs occur in several rows, which this model treats as different participants"
check "... and none in info" lacks none.safetensors "groups:"
check "the signal is in info, term by term" \
    shows none.safetensors "^  signal: linear .*%, quadratic .*%, smooth .*% (length-scale .* in age), sex .*%$"
check "... and what covariates may be" shows none.safetensors "^  age: 20 to 67; new values are clamped to at most 90.5$"

# ---- a further visit: s01 and s02 come again, n1 and n2 are new
awk -F, -v OFS=, 'NR == 1 { print; next }
    NR == 2 || NR == 4 || NR == 6 || NR == 8 {
        if (NR > 4) { $1 = "n" NR; $8 = "new" }
        $10 += 0.02; $12 -= 0.01; print
    }' visits.csv >further.csv
train "each response alone" alone.safetensors --use age,sex --method stgpr
for m in ids family alone; do
    works "a further visit, by $m" score $m.safetensors -c further.csv -y further.csv -o $m.new
    works "... of people who are known" \
        score $m.safetensors -c further.csv -y further.csv -o $m.known --known-groups
    check "... and how many is said" said \
        "known training groups: 2 of 4 participants; their group effects are part of the prediction"
    head -n 3 $m.new/z.csv | tail -n 2 >new
    head -n 3 $m.known/z.csv | tail -n 2 >known
    check "... changes their z" differ new known
    tail -n 2 $m.new/z.csv >new
    tail -n 2 $m.known/z.csv >known
    check "... and nobody else's" same new known
    column $m.new/abnormality.tsv extrapolation | awk '{ printf "%.9f\n", $1 }' >new
    column $m.known/abnormality.tsv extrapolation | awk '{ printf "%.9f\n", $1 }' >known
    check "... nor how far anybody is from training" same new known
done
kronorm fit -c visits.csv -y visits.csv --use age,sex --targets a,b,c,d --calibrate none -o plain.safetensors -q
works "maps of known groups" score plain.safetensors -c further.csv -y further.csv -o maps --known-groups \
    --write z,yhat,ys2_model
cut -d, -f1,10- further.csv >maps/y.csv
by_maps() { # without a layer z is (y - yhat)/sqrt(ys2_model + noise), the noise of known groups for the first two
    awk -F, 'FNR == 1 { file++; next }
        { for (j = 2; j <= 5; j++) v[file, FNR, j] = $j
          for (j = 1; j <= 4; j++) noise[file, j] = $j }
        END { for (i = 2; i <= 5; i++) for (j = 2; j <= 5; j++) {
                z = (v[1, i, j] - v[2, i, j]) / sqrt(v[3, i, j] + noise[i < 4 ? 4 : 5, j - 1])
                if ((z - v[6, i, j])^2 > 1e-8) exit 1 } }' \
        maps/y.csv maps/yhat.csv maps/ys2_model.csv maps/ys2_noise_known.csv maps/ys2_noise.csv maps/z.csv
}
check "... and their noise make up z" by_maps
works "predictions of known groups" predict ids.safetensors -c further.csv -o expected --known-groups
works "... and of new ones" predict ids.safetensors -c further.csv -o apart
check "... differ" differ expected/yhat.csv apart/yhat.csv

# ---- a covariate that was constant
train "a constant covariate" const.safetensors --use age,tesla --group none
check "... is in info" shows const.safetensors "^  tesla: 3 in all participants, excluded$"
cut -d, -f1,2,7,10- further.csv | sed '2,$s/^\([^,]*\),/x\1,/' >here.csv
awk -F, -v OFS=, 'NR > 1 { $3 = 7 } 1' here.csv >there.csv
works "people as in training" score const.safetensors -c here.csv -y here.csv -o here
works "... and elsewhere" score const.safetensors -c there.csv -y there.csv -o there
check "... have the same z" same here/z.csv there/z.csv
check "... and are far from training" \
    test "$(column there/abnormality.tsv extrapolation_pct | sort -u)" = 100

# ---- ages beyond training
awk -F, -v OFS=, 'NR > 1 { $2 = 91 } 1' here.csv >old.csv
awk -F, -v OFS=, 'NR > 1 { $2 = 5000 } 1' here.csv >older.csv
works "people just outside" score const.safetensors -c old.csv -y old.csv -o old
works "... and far outside" score const.safetensors -c older.csv -y older.csv -o older
check "... are held at the same place" same old/z.csv older/z.csv
check "... and told apart by extrapolation" differ old/abnormality.tsv older/abnormality.tsv
check "... which is 100 per cent" \
    test "$(column older/abnormality.tsv extrapolation_pct | sort -u)" = 100

# ---- codes
train "a code of two numbers" code.safetensors --use age,code
check "... is a category" shows code.safetensors "^  covariates: .*code (0, 1)"
train "... unless it is to be a number" number.safetensors --use age,code --numeric code
check "... which it then is" shows number.safetensors "^  code: 0 to 1; new values are clamped to at most 1.5$"
awk -F, -v OFS=, 'NR == 3 { $4 = 1.25 } 1' further.csv >third.csv
works "... and has others" score number.safetensors -c third.csv -y third.csv -o third

# ---- slopes by level, levels that are new, levels that are missing
train "slopes by level" slopes.safetensors --use age,sex --interaction sex:age
check "... are a term" shows slopes.safetensors "^  signal: .*, sex:age .*%$"
works "... that predicts" predict slopes.safetensors -c further.csv -o slopes
train "a site" site.safetensors --use age,site --group none
awk -F, -v OFS=, 'NR == 2 { $5 = "Q" } 1' further.csv >sites.csv
works "people of known sites" predict site.safetensors -c further.csv -o sites
works "another site by the prior" predict site.safetensors -c sites.csv -o prior --unseen prior
more() { # the variance of the first person is larger, that of the others the same
    tail -n 3 sites/ys2_model.csv >new && tail -n 3 prior/ys2_model.csv | cmp -s new - &&
        awk -F, 'FNR == 2 { v[++n] = $2 } END { exit !(v[2] > v[1]) }' sites/ys2_model.csv prior/ys2_model.csv
}
check "... is known less well, and only that one" more
awk -F, -v OFS=, 'NR == 3 || NR == 9 { $5 = "n/a" } 1' visits.csv >missing.csv
works "a missing category counts as its levels" fit -c missing.csv -y missing.csv --targets a,b,c,d \
    --use age,site --missing mean -o missing.safetensors
check "... which is said" said "missing.csv: 2 missing values of site are replaced by the average of its levels in the training sample"
awk -F, -v OFS=, 'NR == 2 { $5 = "" } 1' further.csv >nosite.csv
works "... in a new person too" score missing.safetensors -c nosite.csv -y nosite.csv --missing mean -o nosite

# ---- plain sums
train "a plain sum" sum.safetensors --use age,sex --sample-kernel linear+se
check "... is linear and se over all" shows sum.safetensors "^  signal: linear .*%, se .*% (length-scale .* SD)$"
check "... without slope" lacks sum.safetensors "slope:"
check "... or groups" lacks sum.safetensors "groups:"
works "... and scores" score sum.safetensors -c further.csv -y further.csv -o sum

# ---- nothing predicted
make_noise
works "covariates that predict nothing" fit -c noise.csv -y noise.csv --use age -o nothing.safetensors
check "... and info says so" \
    shows nothing.safetensors "^  prediction: no component predicts; the training mean is predicted for each participant$"
kronorm info nothing.safetensors --json
check "... as there is no component" grep -q '"n_components": 0,' "$logs/out"
sed '2,$s/^p/q/' noise.csv >others.csv
works "... and people are scored" score nothing.safetensors -c others.csv -y others.csv \
    --write z,yhat,ys2_model -o nothing
check "... from the mean of all" test "$(tail -n +2 nothing/yhat.csv | cut -d, -f2- | sort -u | wc -l)" -eq 1
check "... with no variance of the model" test "$(tail -n +2 nothing/ys2_model.csv | cut -d, -f2- | sort -u)" = 0,0,0
check "... so that noise alone is all" \
    test "$(column nothing/abnormality.tsv deviance)" = "$(column nothing/abnormality.tsv deviance_noise)"
awk -F, -v OFS=, 'NR > 1 { $2 = 300 } NR < 4' others.csv >old.csv
works "... and those far from training" score nothing.safetensors -c old.csv -y old.csv -o far
check "... are still told" test "$(column far/abnormality.tsv extrapolation_pct | sort -u)" = 100
done_testing
