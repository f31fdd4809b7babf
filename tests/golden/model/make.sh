#!/bin/sh
# Made tests/golden/model once, with kronorm 0.1.0; kept as the record of how. A model file of format
# version 1 must load for ever and give these z, so the files are never made again: a new format gets
# a folder of its own. Not run in tests. (structured and iso came first, stgpr and kronprod later.)
#
#   tests/golden/model/make.sh build/kronorm
set -eu
kronorm=$(realpath "$1")
cd "$(dirname "$0")"

# 13 people of 6 regions; the last is for scoring
awk 'function u() { x = (x * 16807) % 2147483647; return x / 2147483647 }
    BEGIN {
        x = 11
        print "participant_id,age,sex,r1,r2,r3,r4,r5,r6"
        for (i = 1; i <= 13; i++) {
            age = 20 + int(50 * u()); sex = i % 2 ? "F" : "M"; e = u()
            printf "sub-%02d,%d,%s", i, age, sex
            for (j = 1; j <= 6; j++)
                printf ",%.4f", 3 - 0.004 * j * age + 0.1 * e + 0.1 * u()
            print ""
        }
    }' >all.csv
head -n 13 all.csv >train.csv
(head -n 1 all.csv && tail -n 1 all.csv) >new.csv
rm all.csv
fit="$kronorm fit -c train.csv -y train.csv --use age,sex --targets r* --folds 3 --threads 1 --force -q"
$fit -o structured.safetensors
$fit --noise iso -P 2 -o iso.safetensors
$fit --method stgpr -o stgpr.safetensors
$fit --method kronprod -o kronprod.safetensors
rm ./*.log.json
for m in structured iso stgpr kronprod; do
    rm -rf scored
    $kronorm score $m.safetensors -c new.csv -y new.csv -o scored --write z,yhat,ys2_model --threads 1 -q
    for map in z yhat ys2_model; do mv scored/$map.csv $m.$map.csv; done
    cut -f 1-3,6,8,10 scored/abnormality.tsv >$m.abnormality.tsv
done
rm -rf scored
