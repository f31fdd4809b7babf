#!/bin/sh
# Deviances that are the model's own, by the command: whitened noise, MT-Kronsum, MTGPR; from fit to scores, sites, folds,
# change, and what cannot be.
. "$(dirname "$0")/lib.sh"
export OPENBLAS_NUM_THREADS=1

# 96 participants of five sites, two of them not in training, some with a second visit; 10 responses, noise of other sizes.
awk 'function noise() { return rand() + rand() + rand() - 1.5 }
BEGIN {
    srand(8)
    for (i = 1; i <= 96; i++) {
        s = i > 64 ? 3 + i % 2 : i % 3; age = 20 + 60 * rand(); site = substr("ABCDE", s + 1, 1)
        f = noise(); g = noise(); sex = i % 4 < 2 ? "F" : "M"
        file = i <= 48 ? "train" : i <= 64 ? "new" : i <= 80 ? "controls" : "far"
        for (j = 1; j <= 10; j++) y[j] = 5 + 0.02 * age * (j % 3) + (s - 2) * (j % 2) + 2 * f * (j % 4) + g + (0.3 + j % 5) * noise()
        for (v = 1; v <= 2; v++) {
            line = sprintf("s%02d,%.2f,%s,%s,control,%d", i, age + v - 1, sex, site, v)
            for (j = 1; j <= 10; j++) line = line sprintf(",%.5f", y[j] + (v - 1) * (0.2 * noise()))
            if (v == 1) print line >(file ".body")
            if (file == "new") print line >"visits.body"
        }
    }
}'
head=participant_id,age,sex,site,group,session,r1,r2,r3,r4,r5,r6,r7,r8,r9,r10
for name in train new controls far visits; do { echo $head; cat $name.body; } >$name.csv; done
awk -F , -v OFS=, 'NR % 4 == 2 { $8 = $10 = "" } NR == 5 { for (j = 7; j <= 13; j++) $j = "" } { print }' new.csv >gaps.csv
targets="--targets r1,r2,r3,r4,r5,r6,r7,r8,r9,r10"

both() { echo "-c $1 -y $1"; }
number() { # file, key: of a summary
    sed -n "s/.*\"$2\": *\(-*[0-9.e+-]*\).*/\1/p" "$1" | head -1
}
finite() { case $(number "$1" "$2") in '') false ;; *) true ;; esac; }
same_column() { # folder, folder, column
    column "$1/abnormality.tsv" "$3" >"$logs/a"
    column "$2/abnormality.tsv" "$3" >"$logs/b"
    cmp -s "$logs/a" "$logs/b" && grep -q '[0-9]' "$logs/a"
}
no_gaps() { ! column "$1/abnormality.tsv" "$2" | grep -q 'n/a'; }
all_of_p() { column "$1/abnormality.tsv" deviance_p | awk '!($1 > 0 && $1 <= 1) { bad = 1 } END { exit bad || NR == 0 }'; }

each() { # name, word of its refusal to export, options of fit ...
    m=$1 refusal=$2
    shift 2
    fit="fit $(both train.csv) $targets --use age,sex,site --batch site --folds 4 --seed 2"
    works "$m fits" $fit "$@" -o $m.safetensors
    check "... as its file says" grep -aq 'own_deviance' $m.safetensors
    check "... without eigenvectors of z" sh -c "! grep -aq deviance_Q $m.safetensors"
    works "... and tells" info $m.safetensors
    works "... scores people" score $m.safetensors $(both new.csv) -o $m.new
    check "... all with a p" all_of_p $m.new
    check "... and a joint density" finite $m.new/summary.json joint_density
    works "... on two threads" score $m.safetensors $(both new.csv) --threads 2 -o $m.two
    check "... the same" cmp -s $m.new/abnormality.tsv $m.two/abnormality.tsv
    works "... training people" score $m.safetensors $(both train.csv) -o $m.seen
    works "... and by themselves anew" score $m.safetensors $(both train.csv) --training-rows plain -o $m.plain
    check "... who fit better than by their folds" sh -c "
        a=\$(awk -F '\t' 'NR == 1 { for (i = 1; i <= NF; i++) if (\$i == \"deviance\") c = i } { s += \$c } END { print s }' $m.seen/abnormality.tsv)
        b=\$(awk -F '\t' 'NR == 1 { for (i = 1; i <= NF; i++) if (\$i == \"deviance\") c = i } { s += \$c } END { print s }' $m.plain/abnormality.tsv)
        awk -v a=\$a -v b=\$b 'BEGIN { exit !(b < a) }'"
    works "... people who lack responses" score $m.safetensors $(both gaps.csv) -o $m.gaps
    check "... one of them too many" sh -c "[ \$(awk -F '\t' 'NR == 1 { for (i = 1; i <= NF; i++) if (\$i == \"deviance\") c = i; next } \$c == \"n/a\"' $m.gaps/abnormality.tsv | wc -l) -eq 1 ]"
    works "... a site that is not known" score $m.safetensors $(both far.csv) --unseen prior -o $m.far
    check "... with deviances" no_gaps $m.far deviance_noise_p
    works "... adapts to it" adapt $m.safetensors $(both controls.csv) -o $m.adapted.safetensors
    check "... as its file says" grep -aq 'own_deviance' $m.adapted.safetensors
    works "... and scores there" score $m.adapted.safetensors $(both far.csv) -o $m.there
    check "... what is known of it counts" sh -c "! cmp -s $m.far/abnormality.tsv $m.there/abnormality.tsv"
    works "... known sites" score $m.adapted.safetensors $(both new.csv) -o $m.again
    check "... as before" same_column $m.new $m.again deviance
    works "... held out" cv ${fit#fit } "$@" -o $m.cv
    check "... with a joint density" finite $m.cv/summary.json joint_density
    works "... sites left out" cv $(both train.csv) $targets --use age,sex,site --batch site "$@" --leave-out site -o $m.sites
    check "... with one too" finite $m.sites/summary.json joint_density
    works "... change" change $m.safetensors $(both visits.csv) --participant participant_id --visit session --reference group=control -o $m.change
    works "... centiles" centiles $m.safetensors --over age -o $m.centiles
    misused "... cannot be given away" ": $refusal" export $m.safetensors -o $m.shared.safetensors
}
each whitened "a model with whitened noise cannot be exported; fit it with --noise structured" --noise whitened -P 2
each kronsum "MT-Kronsum models cannot be exported; use the default method" --method kronsum
each mtgpr "MTGPR models cannot be exported; use the default method" --method mtgpr -P 2 --noise-rank 2

# ---- folds that leave nothing outside their components
{ echo $head; head -13 train.body; } >few.csv
few="$(both few.csv) $targets --use age,sex --folds 3 -P 10"
works "as many components as responses, of few people" fit $few --noise whitened -o few.safetensors
works "... scores" score few.safetensors $(both few.csv) --training-rows plain -o few_scored
check "... with deviances of folds that have noise outside of their own" awk -F'\t' 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == "deviance") c = i } NR > 1 && !($c > 0) { bad = 1 } END { exit bad || !c || NR != 14 }' few_scored/abnormality.tsv
works "... scores all the same" score few.safetensors $(both new.csv) -o few
works "auto" fit $few --noise auto -o auto.safetensors
check "... has nothing to compare" grep -q '^noise: structured; the folds are too small to compare densities of held-out maps' "$logs/err"
done_testing
