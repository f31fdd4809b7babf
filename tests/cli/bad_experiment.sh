#!/bin/sh
# Folders of the visual experiment that are not whole: one sentence, exit code 1, no folder of results.
# What else can be wrong in them is in python/visual_oracle.py.
. "$(dirname "$0")/lib.sh"
"$KRONORM" simulate --kind miyawaki -o whole -q
run=data_random_run01 scans=$(wc -l <whole/label/data_random_run01_label.csv)
last=$(ls whole/func | sed -n 's/data_random_run\(.*\).nii.gz/\1/p' | tail -n 1)

spoilt() { # promise, sentence, command that spoils the folder ...
    promise=$1 sentence=$2
    shift 2
    rm -rf data
    cp -r whole data
    "$@"
    refused "$promise" "$sentence" reproduce --data data -o out
}

spoilt "a missing run" \
    "data/func/$run.nii.gz is missing, expected runs 01 to $last of random patterns" \
    rm data/func/$run.nii.gz
spoilt "a missing label file" \
    "data/label/${run}_label.csv is missing, expected runs 01 to $last of random patterns" \
    rm data/label/${run}_label.csv
spoilt "a missing mask" "data/mask/mask.nii.gz cannot be opened: no such file or directory" \
    rm data/mask/mask.nii.gz
spoilt "no runs at all" \
    "data: no func/data_random_run01.nii.gz there, expected the layout of the Miyawaki 2008 data set; kronorm simulate --kind miyawaki makes one" \
    rm -r data/func data/label
spoilt "a label row too few" \
    "data/label/${run}_label.csv has $((scans - 1)) rows, expected $scans, one per scan of data/func/$run.nii.gz" \
    sed -i '$d' data/label/${run}_label.csv

gunzip -c whole/mask/mask.nii.gz >mask.nii
dims=$(od -An -td2 -j42 -N6 mask.nii | tr -s ' ')
set -- $dims
cp mask.nii smaller.nii
patch smaller.nii 42 "\\$(printf %o $(($1 - 1)))\\000"
spoilt "a mask of another size" \
    "data/mask/mask.nii.gz: the image has $(($1 - 1)) x $2 x $3 voxels instead of the $1 x $2 x $3 of data/func/$run.nii.gz; resample the images to one space" \
    sh -c 'gzip -c smaller.nii >data/mask/mask.nii.gz'
(head -c 352 mask.nii && tail -c +353 mask.nii | tr '\001-\377' '\000') >empty.nii
spoilt "an empty mask" "data/mask/mask.nii.gz: the mask is empty; every voxel is 0" \
    sh -c 'gzip -c empty.nii >data/mask/mask.nii.gz'
done_testing
