#!/bin/sh
# Images in a BIDS derivatives folder, found by entities, and two patterns for hemispheres: the same model as of a list.
. "$(dirname "$0")/lib.sh"

says() { # promise, words that the last command printed
    if grep -qF -e "$2" "$logs/out" "$logs/err"; then ok "$1"; else not_ok "$1" "nothing says $2"; fi
}
fit() { kronorm fit --seed 1 --restarts 0 --folds 2 -m study/mask.nii.gz -o m.safetensors --force "$@"; }
refused() { # promise, words, arguments of fit ...
    promise=$1 words=$2
    shift 2
    fit "$@"
    if [ $code -ne 0 ] && grep -qF -e "$words" "$logs/err"; then ok "$promise"; else not_ok "$promise" "expected: $words"; fi
}
same_z() { # promise, folder to compare with, arguments of fit and score ...
    promise=$1 expected=$2
    shift 2
    rm -rf scored
    fit "$@"
    [ $code -eq 0 ] && kronorm score m.safetensors "$@" -o scored
    if [ $code -ne 0 ]; then
        not_ok "$promise" "it is refused"
    elif diff -r --exclude='summary*' scored "$expected" >"$logs/check" 2>&1; then
        ok "$promise"
    else
        not_ok "$promise" "$(cat "$logs/check")"
    fi
}

works "a study" simulate --participants 20 --patients 0 -o study
# a dataset: derivatives with sessions, spaces and descriptions, and participants.tsv above them
deriv=bids/derivatives/pipeline
mkdir -p $deriv && cp study/participants.tsv bids/
while IFS='	' read -r id path; do
    anat=$deriv/$id/anat
    mkdir -p "$anat"
    cp "study/$path" "$anat/${id}_space-MNI_label-GM_probseg.nii.gz"
    cp "study/$path" "$anat/${id}_space-MNI_label-WM_probseg.nii.gz"
    cp "study/$path" "$anat/${id}_space-T1w_desc-smooth_label-GM_probseg.nii.gz"
    echo '{}' >"$anat/${id}_space-MNI_label-GM_probseg.json"
    cp "study/$path" "$anat/${id}_hemi-L_thickness.nii.gz"
    cp "study/$path" "$anat/${id}_hemi-R_thickness.nii.gz"
    printf '%s\t%s\t%s\n' "$id" "$anat/${id}_hemi-L_thickness.nii.gz" "$anat/${id}_hemi-R_thickness.nii.gz" >>pairs.txt
done <study/images.txt
sort -o pairs.txt pairs.txt
data="-c study/participants.tsv -y"
(cd study && sort -o images.txt images.txt)
fit $data study/images.txt
kronorm score m.safetensors $data study/images.txt -o list
same_z "images by suffix, space and label; participants.tsv is found above" list --bids $deriv --suffix probseg --space MNI --entities label=GM
fit --bids $deriv --suffix probseg --space MNI --entities label=GM
says "... which a line says" "covariates: bids/participants.tsv"
same_z "... by desc" list -y $deriv --suffix probseg --desc smooth
refused "several images of a participant" "bids/derivatives/pipeline: 3 files fit for sub-0001, which differ in space (MNI, T1w); choose one by --space VALUE" --bids $deriv --suffix probseg
refused "... that differ in another entity" "bids/derivatives/pipeline: 2 files fit for sub-0001, which differ in label (GM, WM); choose one by --entities label=VALUE" --bids $deriv --suffix probseg --space MNI
refused "a suffix that no image has" "bids/derivatives/pipeline: none of 100 images has the entities asked for; the suffixes are " --bids $deriv --suffix curv
refused "a folder without --suffix" "--responses: bids/derivatives/pipeline is a folder; say which images to read by --suffix (" --bids $deriv
refused "entities that are no list" "--entities is 'GM', but must be KEY=VALUE,KEY=VALUE, such as den=32k,label=GM" --bids $deriv --suffix probseg --entities GM
refused "--space without --suffix" "--space is for images of a BIDS derivatives folder (named in --suffix)" $data study/images.txt --space MNI
refused "--suffix for a list" "--suffix is for a BIDS derivatives folder, but study/images.txt is no folder" $data study/images.txt --suffix probseg
mkdir nothing
refused "a folder without images" "--responses: nothing is a folder without images named as in BIDS; name the images by a quoted pattern such as 'nothing/*.nii.gz', or a table" $data nothing

# ---- hemispheres
mask="-m study/mask.nii.gz,study/mask.nii.gz"
kronorm fit --seed 1 --restarts 0 --folds 2 $mask -o pairs.safetensors $data pairs.txt
kronorm score pairs.safetensors $data pairs.txt -o pairs
for y in "-y $deriv --suffix thickness" "-c bids/participants.tsv -y $deriv/*/*/*hemi-L*.nii.gz,$deriv/*/*/*hemi-R*.nii.gz"; do
    set -f
    kronorm fit --seed 1 --restarts 0 --folds 2 $mask -o both.safetensors --force $y
    kronorm score both.safetensors $y -o both --force
    set +f
    check "hemispheres: $y" sh -c 'cmp pairs/z_lh.nii.gz both/z_lh.nii.gz && cmp pairs/z_rh.nii.gz both/z_rh.nii.gz'
done
mv $deriv/sub-0004/anat/sub-0004_hemi-R_thickness.nii.gz .
refused "a missing hemisphere" "$deriv: $deriv/sub-0004/anat/sub-0004_hemi-L_thickness.nii.gz has no other hemisphere, but other participants have both; remove the file, or name one hemisphere by --entities hemi=L" --bids $deriv --suffix thickness
same_z "... of which --entities takes one" list --bids $deriv --suffix thickness --entities hemi=L
refused "... of two patterns" "$deriv/sub-0004/anat/sub-0004_hemi-L_thickness.nii.gz has no other hemisphere in the same place, expected names that differ in lh and rh, hemi-L and hemi-R, or L and R" $data "$deriv/*/*/*hemi-L*.nii.gz,$deriv/*/*/*hemi-R*.nii.gz"
refused "a pattern without quotes" " belongs to no option; if it is one of the files of a pattern, quote the pattern: --responses 'PATTERN'" $data $deriv/*/anat/*space-MNI_label-GM_probseg.nii.gz

# ---- sessions
for id in sub-0001 sub-0002; do
    mkdir $deriv/$id/ses-1 && cp $deriv/$id/anat/${id}_space-MNI_label-GM_probseg.nii.gz $deriv/$id/ses-1/${id}_ses-1_space-MNI_label-GM_probseg.nii.gz
done
refused "several sessions" "if these are sessions of one participant, use --session" --bids $deriv --suffix probseg --space MNI --entities label=GM
done_testing
