#!/bin/sh
# Groups, terms and covariates that do not go together: one sentence, nothing left behind.
. "$(dirname "$0")/lib.sh"
make_visits

fit() { # promise, sentence, options ...: bad data
    promise=$1 sentence=$2
    shift 2
    refused "$promise" "$sentence" fit -c visits.csv -y visits.csv --targets a,b,c,d -o m.safetensors "$@"
}
misfit() { # the same for wrong usage; the sentence begins behind 'kronorm'
    promise=$1 sentence=$2
    shift 2
    misused "$promise" "$sentence" fit -c visits.csv -y visits.csv --targets a,b,c,d -o m.safetensors "$@"
}
train() { # promise, model, options ...
    promise=$1 model=$2
    shift 2
    works "$promise" fit -c visits.csv -y visits.csv --targets a,b,c,d -o "$model" "$@"
}
said() { grep -qxF -e "$1" "$logs/err"; }

# ---- groups
fit "a column of groups that is not there" \
    "visits.csv has no column 'house' (named in --group); its columns are participant_id, age, sex, code, site, ..." \
    --use age --group house
awk -F, -v OFS=, 'NR == 4 { $8 = "n/a" } 1' visits.csv >nobody.csv
refused "a person without a group" "nobody.csv line 4: family is 'n/a', but --group requires a group in every row" \
    fit -c nobody.csv -y nobody.csv --targets a,b,c,d --use age --group family -o m.safetensors
misfit "a column that is group and covariate" \
    ": visits.csv: family cannot be a covariate, because it is the column of --group; omit it from --use" --use age,family --group family
fit "groups that are a category" \
    "visits.csv: --group scanner and the covariate site define the same groups; omit the covariate from --use, or use --group none" \
    --use age,site --group scanner
train "one group of all" one.safetensors --use age --group tesla
check "... is none, and that is said" \
    said "visits.csv: tesla is the same in every row, so no rows share noise and groups are ignored"
train "a group for each row" each.safetensors --use age --group row
check "... is none, and that is said" \
    said "visits.csv: row is different in every row, so no rows share noise and groups are ignored"
misfit "groups and a sum of kernels" \
    " fit: --group family requires --sample-kernel additive, not linear+se (see 'kronorm fit --help')" \
    --use age --group family --sample-kernel linear+se

# ---- interactions
slopes() { # promise, sentence, value
    misfit "$1" ": $2" --use age,sex,code,tesla --interaction "$3"
}
slopes "an interaction of one" \
    "--interaction is 'age', but must be CATEGORY:COLUMN, such as site:age" age
slopes "an interaction of none" \
    "--interaction sex:nose: no covariate 'nose'; choose from age, sex, code, tesla" sex:nose
slopes "an interaction the wrong way round" \
    "--interaction age:sex needs a category before the colon, but age is a number" age:sex
slopes "an interaction of categories" \
    "--interaction sex:code needs a number after the colon, but code is a category; --numeric code treats it as a number" sex:code
slopes "an interaction twice" "--interaction names 'sex:age' twice" sex:age,sex:age
fit "an interaction with a constant" \
    "--interaction sex:tesla needs two columns that vary, but tesla is the same in every row" \
    --use age,sex,tesla --interaction sex:tesla
misfit "an interaction and a sum of kernels" \
    " fit: --interaction requires --sample-kernel additive, not linear+se (see 'kronorm fit --help')" \
    --use age,sex --interaction sex:age --sample-kernel linear+se

# ---- terms
misfit "additive in a sum" \
    " fit: --sample-kernel additive+se: additive cannot be combined with other kernels (see 'kronorm fit --help')" \
    --use age --sample-kernel additive+se
misfit "additive and iso noise" " fit: --sample-kernel additive requires structured noise (see 'kronorm fit --help')" \
    --use age --sample-kernel additive --noise iso
fit "covariates that are all constant" "visits.csv: every covariate has the same value in all rows, but at least one must vary" --use tesla
awk 'function u() { x = (x * 16807) % 2147483647; return x / 2147483647 }
    BEGIN {
        x = 5
        for (i = 0; i <= 60; i++) {
            printf i ? "p" i : "participant_id"; printf i ? "," 20 + int(50 * u()) "," u() : ",age,y"
            for (k = 1; k <= 14; k++) printf i ? (u() < 0.5 ? ",x" : ",y") : ",c" k
            print ""
        }
    }' >many.csv
refused "more categories than terms" \
    "there are 14 categories and interactions, but at most 13 can be used; omit some from --use" \
    fit -c many.csv -y many.csv --use 'age,c1,c2,c3,c4,c5,c6,c7,c8,c9,c10,c11,c12,c13,c14' --targets y \
    -o m.safetensors
works "... and as many" fit -c many.csv -y many.csv --use 'age,c1,c2,c3,c4,c5,c6,c7,c8,c9,c10,c11,c12,c13' \
    --targets y --components 1 -o many.safetensors

# ---- new participants
train "a code of two numbers" code.safetensors --use age,code --group none
awk -F, -v OFS=, 'NR == 5 { $4 = 2 } 1' visits.csv >third.csv
refused "... has no third" \
    "third.csv line 5: code is '2', which is not a level of the training sample (levels: 0, 1); fit with --numeric code if it is a number" \
    score code.safetensors -c third.csv -y third.csv -o scored
awk -F, -v OFS=, 'NR == 5 { $4 = "Female" } 1' visits.csv >words.csv
refused "... and no words" \
    "words.csv line 5: code is 'Female', which is not a level of the training sample (levels: 0, 1); write the levels of the training sample" \
    score code.safetensors -c words.csv -y words.csv -o scored
known() { # promise, sentence, model, table
    refused "$1" "$2" score "$3" -c "$4" -y "$4" -o scored --known-groups
}
train "groups by repeated ids" ids.safetensors --use age
train "groups by a column" family.safetensors --use age --group family
train "groups without names" nameless.safetensors --use age --strip-ids
cut -d, -f1-7,9- visits.csv >nofamily.csv
cut -d, -f2- visits.csv >noids.csv
misused "known groups of a model that has none" ": --known-groups cannot be used, because code.safetensors has no training groups" \
    score code.safetensors -c visits.csv -y visits.csv -o scored --known-groups
misused "known groups of a model that keeps no names" \
    ": --known-groups cannot be used, because nameless.safetensors was fitted with --strip-ids and contains no group names" \
    score nameless.safetensors -c visits.csv -y visits.csv -o scored --known-groups
known "known groups of people without the column" "--known-groups cannot be used, because these participants have no family" \
    family.safetensors nofamily.csv
known "known groups of people without ids" "--known-groups cannot be used, because these participants have no IDs" ids.safetensors noids.csv

# ---- warnings
train "a constant covariate" const.safetensors --use age,tesla --group none
check "... is left out" said "kronorm fit: warning: constant covariates are not used, 1 of 2: tesla"
awk -F, -v OFS=, 'NR > 1 { $1 = "n" NR; if (NR < 5) $2 = 200 } NR < 8' visits.csv >old.csv
works "ages far outside" score const.safetensors -c old.csv -y old.csv -o old
check "... are held, and that is said" grep -q "^kronorm score: warning: age of 3 participants is outside .* to .* (the training range, extended by half of it at each end) and is clamped$" "$logs/err"
awk -F, -v OFS=, 'NR > 1 && NR < 4 { $7 = 1.5 } NR < 8' visits.csv >tesla.csv
works "another constant" score const.safetensors -c tesla.csv -y tesla.csv -o tesla
check "... is said" \
    said "kronorm score: warning: tesla of 2 participants is not 3, the only value in the training sample; the model ignores it"
train "a category of one level" level.safetensors --use age,tesla --categorical tesla --group none
check "... is said" said "kronorm fit: warning: visits.csv: tesla is '3' in every row, so it cannot predict the responses"
refused "... and has no other" \
    "tesla.csv line 2: tesla is '1.5', which is not a level of the training sample (levels: 3)" \
    score level.safetensors -c tesla.csv -y tesla.csv -o scored
train "a site" site.safetensors --use age,site --group none
awk -F, -v OFS=, 'NR == 2 || NR == 4 { $5 = "Q" } NR < 8' visits.csv >sites.csv
refused "another one is refused" \
    "sites.csv: 2 participants are from a site that is not in the training data (Q); use 'kronorm adapt' with at least 5 healthy controls from there, or --unseen prior, which needs no controls but is less sensitive" \
    predict site.safetensors -c sites.csv -o expected
works "... or the prior" predict site.safetensors -c sites.csv -o expected --unseen prior
check "... and said" said "kronorm predict: warning: sites.csv: 2 participants are from a site that is not in the training data (Q) and are scored with the average site and between-site variance, which is less sensitive; use 'kronorm adapt' if you have healthy controls from there"
train "a site in a plain sum" plain.safetensors --use age,site --sample-kernel linear+se
refused "... has no prior" \
    "sites.csv line 2: site is 'Q', which is not a level of the training sample (levels: A, B; --unseen prior needs the additive sample kernel)" \
    predict plain.safetensors -c sites.csv -o plain --unseen prior
make_noise
works "covariates that predict nothing" fit -c noise.csv -y noise.csv --use age -o nothing.safetensors
check "... bring a warning" said "kronorm fit: warning: the covariates do not improve prediction, so the training mean is predicted for every participant; check that covariates and responses belong to the same participants"
done_testing
