#!/bin/sh
# Convolved processes: what they are fitted with, what they refuse, that a model says the same twice.
. "$(dirname "$0")/lib.sh"
awk 'BEGIN {
    srand(3); OFS = ","
    print "id,age,sex,site,one,a1,a2,a3,a4,a5"  >"people.csv"
    print "id,a,b,c,d,e,f" >"values.csv"
    for (i = 1; i <= 60; i++) {
        age = 20 + (i * 37) % 50; sex = i % 2 ? "F" : "M"; site = i % 3 ? "north" : "south"
        print "s" i, age, sex, site, 1, rand(), rand(), rand(), rand(), rand() >"people.csv"
        line = "s" i
        for (j = 1; j <= 6; j++)
            line = line OFS sin(age / (5 + 3 * j)) + (sex == "F") * j / 10 + (site == "north") / 5 + rand() - .5
        print line >"values.csv"
    }
}' </dev/null
awk 'BEGIN { srand(4)
    for (i = 0; i <= 60; i++) {
        line = i ? "s" i : "id"
        for (j = 1; j <= 51; j++) line = line "," (i ? rand() : "v" j)
        print line >"wide.csv"
    }
}' </dev/null >/dev/null
F="fit -c people.csv -y values.csv --match all"
same() { cmp -s "$1" "$2"; }
shows() { kronorm info "$1" && grep -q -e "$2" "$logs/out"; }

for m in "-P 3" "-P 3 --latent 2 --widths shared" "-P 2 --inducing pitc --inducing-points 4" "-P 2 --inducing none" \
    "--on responses" "" "--restarts 1 -P 2 --max-evals 5" "-P 2 --smooth age,a1 --inducing-points 6"; do
    works "convolved $m" $F --use age,sex,site,a1 --method convolved $m --folds 4 -o model.safetensors --force
    works "... the same again" $F --use age,sex,site,a1 --method convolved $m --folds 4 -o again.safetensors --force
    check "... to the byte" same model.safetensors again.safetensors
    works "... on one thread" $F --use age,sex,site,a1 --method convolved $m --folds 4 -o one.safetensors --force --threads 1
    check "... to the byte" same model.safetensors one.safetensors
    works "... scores" score model.safetensors -c people.csv -y values.csv -o scored --force --training-rows plain
    works "... predicts" predict model.safetensors -c people.csv -o predicted --force
    works "... is described" info model.safetensors
done
check "a model says what it is" shows model.safetensors "components 2"
check "... that it has noise of each component" shows model.safetensors "widths of each component, noise of each component$"
check "... and a bound" shows model.safetensors "log-likelihood: the bound, of the components alone"
check "... not what it has not" sh -c "! grep -q 'noise structured\|likelihood exact\|rank of R' '$logs/out'"
works "a model of the responses" $F --use age,sex --method convolved --on responses --folds 0 -o on.safetensors
check "... says so" shows on.safetensors "widths of each response, noise of each response$"

# ---- refusals
fails "no number to smooth over" 1 \
    "kronorm: --method convolved smooths over a numeric covariate, but none of them varies" \
    $F --use sex,site --method convolved -P 2 -o x.safetensors
fails "a category to smooth over" 2 \
    "kronorm: --method convolved smooths over continuous covariates such as age, but --smooth sex is a category" \
    $F --use age,sex --method convolved -P 2 --smooth sex -o x.safetensors
fails "nobody to smooth over" 2 \
    "kronorm: --smooth height: no covariate 'height'; choose from age, sex" \
    $F --use age,sex --method convolved -P 2 --smooth height -o x.safetensors
fails "five continuous covariates" 1 \
    "kronorm: --method convolved: there are 5 continuous covariates, but at most 4 can be smoothed over; name them in --smooth" \
    $F --use age,a1,a2,a3,a4 --method convolved -P 2 -o x.safetensors
works "... four of which are named" $F --use age,a1,a2,a3,a4 --method convolved -P 2 --smooth age,a1,a2,a3 --folds 0 \
    -o x.safetensors
fails "too many inducing values" 2 \
    "kronorm: --method convolved: --latent times --inducing-points is 501 (3 times 167), but at most 500 is allowed" \
    $F --use age --method convolved -P 2 --latent 3 --inducing-points 167 -o y.safetensors
fails "too much for one Gaussian" 2 \
    "kronorm: --method convolved: --inducing none uses one Gaussian distribution of 60 participants times 51 tasks (0.1 GB and about 3 s per evaluation), but at most 3000 values are allowed" \
    fit -c people.csv -y wide.csv --use age --method convolved --on responses --inducing none -o y.safetensors
fails "another sample kernel" 2 \
    "kronorm fit: --method convolved has its own smoothing widths and noise per task, so --sample-kernel does not apply (see 'kronorm fit --help')" \
    $F --use age --method convolved --sample-kernel linear+se -o y.safetensors
fails "latent processes of another method" 2 \
    "kronorm: smtgpr does not use --latent: only convolved has it" \
    $F --use age --latent 2 -o y.safetensors
done_testing
