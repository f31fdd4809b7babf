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

# ---- runs, sessions and descriptions
runs=bids/derivatives/runs
while IFS='	' read -r id path; do
    func=$runs/$id/ses-1/func
    mkdir -p "$func"
    for run in 1 2; do
        cp "study/$path" "$func/${id}_ses-1_run-${run}_desc-raw_alff.nii.gz"
        cp "study/$path" "$func/${id}_ses-1_run-${run}_desc-smooth_alff.nii.gz"
    done
done <study/images.txt
refused "two runs" "bids/derivatives/runs: 2 files fit for sub-0001, which differ in run (1, 2); choose one by --entities run=VALUE" --bids $runs --suffix alff --desc smooth
refused "two descriptions" "$runs: 2 files fit for sub-0001, which differ in desc (raw, smooth); choose one by --desc VALUE" --bids $runs --suffix alff --entities run=1
refused "a run that no image has" "$runs: none of 80 images has the entities asked for; the suffixes are alff" --bids $runs --suffix alff --entities run=3
same_z "one run and description" list --bids $runs --suffix alff --desc smooth --entities run=2
same_z "... and a session by --entities" list --bids $runs --suffix alff --entities ses=1,run=1,desc=raw

quoted=bids/derivatives/'a"b'
mkdir "$quoted" && cp $deriv/sub-0001/anat/*hemi-L* "$quoted"
refused "a path with a double quote" "the name 'bids/derivatives/a\"b/sub-0001_hemi-L_thickness.nii.gz' has a control character or a double quote; rename it" --bids "$quoted" --suffix thickness
rm -r "$quoted"

# ---- --bids-output
# The names below a folder: all are BIDS names, and dataset_description.json has what BIDS requires.
valid() { # promise, folder, number of maps, a map that must be there
    check "$1" /usr/bin/env python3 - "$2" "$3" "$4" <<'END'
import json, pathlib, re, sys
root, maps, one = pathlib.Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
image = re.compile(r"(sub-[a-zA-Z0-9]+)(/(ses-[a-zA-Z0-9]+))?/(anat|func)/\1(?(2)_\3)(_[a-z]+-[a-zA-Z0-9]+)*_desc-[a-zA-Z0-9]+"
                   r"_[a-zA-Z0-9]+\.(nii\.gz|func\.gii|json)")
names = sorted(p.relative_to(root).as_posix() for p in root.rglob("*") if p.is_file())
assert one in names, names[:9]
names.remove("dataset_description.json")
wrong = [n for n in names if not image.fullmatch(n) and not re.fullmatch(r"phenotype/[a-zA-Z0-9_]+\.(tsv|json)", n)]
assert not wrong, wrong
values = [n for n in names if not n.endswith(".json")]
assert len(values) == maps and len(names) == 2 * maps, len(names)
for n in names:
    if n.endswith(".json"):
        assert json.loads((root / n).read_text()), n
about = json.loads((root / "dataset_description.json").read_text())
assert about["Name"] and re.fullmatch(r"1\.\d+\.\d+", about["BIDSVersion"]) and about["DatasetType"] == "derivative", about
assert about["GeneratedBy"][0]["Name"] == "kronorm" and about["GeneratedBy"][0]["Version"], about
if one.startswith("sub-"):
    stem = one.split(".")[0]
    source = json.loads((root / (stem + ".json")).read_text())["Sources"][0]
    assert source.startswith("bids:source:sub-"), source
    folder = pathlib.Path(about["DatasetLinks"]["source"].removeprefix("file://"))
    assert (folder / source.split(":")[2]).is_file() and about["SourceDatasets"][0]["URL"] == "file://" + str(folder), about
END
}
not_scored() { # promise, words, arguments of score ...
    promise=$1 words=$2
    shift 2
    kronorm score m.safetensors "$@"
    if [ $code -ne 0 ] && grep -qF -e "$words" "$logs/err"; then ok "$promise"; else not_ok "$promise" "expected: $words"; fi
}
smooth="--bids $runs --suffix alff --desc smooth --entities run=2"
fit $smooth
works "maps per participant" score m.safetensors $smooth -o split --split
works "--bids-output" score m.safetensors $smooth -o plain --bids-output out --write z,ys2_model
valid "... has BIDS names" out 40 sub-0001/ses-1/func/sub-0001_ses-1_run-2_desc-smoothZ_alff.nii.gz
check "... and the values of --split" sh -c 'for id in sub-0001 sub-0020; do
    cmp split/${id}_*z.nii.gz out/$id/ses-1/func/${id}_ses-1_run-2_desc-smoothZ_alff.nii.gz || exit 1; done'
check "... and leaves --output as it is" cmp plain/z.nii.gz list/z.nii.gz
not_scored "--bids-output into a folder that has it" "out/dataset_description.json already exists; use --force to replace it" $smooth -o again --bids-output out
check "... leaves nothing" test ! -e again
works "... with --force" score m.safetensors $smooth -o again --bids-output out --write z,ys2_model --force
not_scored "--bids-output with --part" "--bids-output cannot be used with --part" $smooth -o again --bids-output new --part 1/2
not_scored "... with images of other names" " has no BIDS name, expected a name such as sub-01_space-MNI_probseg.nii.gz" $data study/images.txt -o new --bids-output new2
check "... leaves nothing" test ! -e new -a ! -e new2
while IFS='	' read -r id path; do
    mkdir -p "same/$id" && cp "study/$path" "same/$id/sub-01_probseg.nii.gz"
    printf '%s\t%s\n' "$id" "same/$id/sub-01_probseg.nii.gz" >>same.txt
done <study/images.txt
not_scored "... with two images of one name" "--bids-output: two maps would be new2/sub-01/anat/sub-01_desc-z_probseg; give each participant and session its own name" $data same.txt -o new --bids-output new2
mkdir raw && echo '{"Name": "a study", "BIDSVersion": "1.9.0"}' >raw/dataset_description.json
not_scored "... into another dataset" "--bids-output: raw/dataset_description.json is not of kronorm; name a new folder" $smooth -o new --bids-output raw --force

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
works "hemispheres by --bids-output" score both.safetensors -y $deriv --suffix thickness -o both --force --bids-output two
valid "... have BIDS names" two 40 sub-0002/anat/sub-0002_hemi-R_desc-z_thickness.nii.gz
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

# ---- a table by --bids-output
works "tables" simulate --participants 20 --patients 0 --regions 5 -o regions
table="-c regions/participants.tsv -y regions/regions.csv"
kronorm fit --seed 1 --restarts 0 --folds 2 $table -o t.safetensors
works "a table by --bids-output" score t.safetensors $table -o table --bids-output tabular
valid "... has BIDS names" tabular 1 phenotype/z.tsv
check "... and the numbers of z.csv" sh -c 'tr "\t" , <tabular/phenotype/z.tsv | cmp - table/z.csv'
sed 's/sub-00/sub_00/' regions/participants.tsv >regions/other.tsv
sed 's/sub-00/sub_00/' regions/regions.csv >regions/others.csv
kronorm score t.safetensors -c regions/other.tsv -y regions/others.csv -o new --bids-output new2
says "... whose IDs are no labels" "--bids-output: the ID 'sub_0001' is no BIDS label, expected letters and digits, such as sub-01"
done_testing
