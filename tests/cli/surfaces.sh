#!/bin/sh
# Surfaces: the format in is the format out, two hemispheres are one model, CIFTI keeps its brain models.
# nibabel makes the files and reads back what was written.
. "$(dirname "$0")/lib.sh"
nibabel() { ask_python surfaces.py "$@"; }
if ! start_python numpy nibabel; then
    skip "surfaces" "nibabel is not there"
    done_testing
    exit
fi
check "nibabel makes the files" nibabel make
files() { (cd "$1" && ls -A | grep -v -e '\.tsv$' -e '\.json$' | tr '\n' ' '); }
fit() { "$KRONORM" fit -c people.csv -q "$@" 2>"$logs/err"; }
lml() { "$KRONORM" info "$1" --json | grep '"lml"'; }
# A model of these responses; all of them scored, as one file and one file per participant; predicted.
round() { # promise, name, responses
    check "$1: fit" fit -y "$3" -o "$2.safetensors"
    works "... score" score "$2.safetensors" -c people.csv -y "$3" -o "$2" --write z,yhat -q
    works "... a file a person" score "$2.safetensors" -c people.csv -y "$3" -o "$2.split" --split -q
    works "... predict" predict "$2.safetensors" -c people.csv -o "$2.predict" -q
}

# ---- in = out
round "MGH" mgh lh.all.mgh
check "... is MGH out" test "$(files mgh)" = "yhat.mgh z.mgh "
check "... one frame a person" nibabel maps mgh/z.mgh 30 60
check "... in the same place" nibabel space mgh/z.mgh lh.all.mgh
check "... or a file each" test "$(files mgh.split | wc -w)" -eq 30
check "... of one frame" nibabel maps mgh.split/p07_z.mgh 1 60
check "... and one of noise" nibabel maps mgh.predict/ys2_noise.mgh 1 60
round "a list of MGZ" mgz lh.txt
check "... is MGZ out" test "$(files mgz)" = "yhat.mgz z.mgz "
check "... with the same z" nibabel same mgz/z.mgz mgh/z.mgh
round "GIFTI" gii lh.all.func.gii
check "... is GIFTI out" test "$(files gii)" = "yhat.func.gii z.func.gii "
check "... one data array a person" nibabel maps gii/z.func.gii 30 60
check "... with names" nibabel names gii/z.func.gii
check "... and the side" nibabel side gii/z.func.gii CortexLeft
check "... of one array" nibabel maps gii.split/p07_z.func.gii 1 60
check "... and one of noise" nibabel maps gii.predict/ys2_noise.func.gii 1 60
check "the same vertices as MGH and as GIFTI are the same model" test "$(lml mgh.safetensors)" = "$(lml gii.safetensors)"
check "... and the same z" nibabel same gii/z.func.gii mgh/z.mgh
works "a model of MGH scores GIFTI" score mgh.safetensors -c people.csv -y lh.all.func.gii -o across
check "... to the same z, as MGH" nibabel same across/z.mgh mgh/z.mgh
works "--format nii" score gii.safetensors -c people.csv -y lh.all.func.gii -o nii --format nii
check "... is NIfTI of the same z" nibabel same nii/z.nii.gz mgh/z.mgh

# ---- two hemispheres
round "two 4D files" two lh.all.mgh,rh.all.mgh
check "... are two files a map" test "$(files two)" = "yhat_lh.mgh yhat_rh.mgh z_lh.mgh z_rh.mgh "
check "... of their own vertices" nibabel maps two/z_lh.mgh 30 60
check "... on either side" nibabel maps two/z_rh.mgh 30 50
check "... and two a person" test "$(files two.split | wc -w)" -eq 60
check "... named by id and side" nibabel maps two.split/p07_z_rh.mgh 1 50
round "a list of two columns" list gii.txt
check "... is GIFTI out" test "$(files list)" = \
    "yhat_lh.shape.gii yhat_rh.shape.gii z_lh.shape.gii z_rh.shape.gii "
check "... with the sides" nibabel side list/z_rh.shape.gii CortexRight
check "... is the same model" test "$(lml list.safetensors)" = "$(lml two.safetensors)"
check "... and the same z" nibabel same list/z_lh.shape.gii two/z_lh.mgh
check "... on either side" nibabel same list/z_rh.shape.gii two/z_rh.mgh
check "one row of both sides" fit -y mgz.txt -o table.safetensors
works "... as a table" score table.safetensors -c people.csv -y mgz.txt -o table --format csv -q
works "... has the left side before the right" score table.safetensors -c people.csv -y mgz.txt -o table2 -q
awk -F, 'NR == 1 { exit !($2 == "voxel_0" && $NF == "voxel_109" && NF == 108) }' table/z.csv
check "... by the numbers of its columns" test $? -eq 0
check "a mask of two" fit -y mgz.txt -m lh.mask.mgh,rh.mask.mgh -o masked.safetensors
check "... leaves out what it says" sh -c "'$KRONORM' info masked.safetensors --json | grep -q '\"n_responses\": 101,'"
cp lh.all.mgh a.mgh && cp rh.all.mgh b.mgh
check "sides that have no names" fit -y a.mgh,b.mgh -o plain.safetensors
works "... have numbers" score plain.safetensors -c people.csv -y a.mgh,b.mgh -o plain -q
check "... in their order" test "$(files plain)" = "z_1.mgh z_2.mgh "
again() { refused "$1" "$2" score two.safetensors -c people.csv -o no -y "$3"; }
again "one of two" "lh.all.mgh has one image per participant, but the model was trained on two, such as left and right hemisphere; give both" lh.all.mgh
again "the wrong way round" \
    "rh.all.mgh,lh.all.mgh: the image has 50 x 1 x 1 voxels instead of the 60 x 1 x 1 of the model; resample the images to one space" rh.all.mgh,lh.all.mgh
cp lh.all.mgh lh.same.mgh && cp lh.all.mgh rh.same.mgh
check "sides of one size" fit -y lh.same.mgh,rh.same.mgh --components 2 --folds 0 -o same.safetensors
refused "... the wrong way round" "rh.same.mgh,lh.same.mgh has rh where the model has lh" \
    score same.safetensors -c people.csv -y rh.same.mgh,lh.same.mgh -o no
again "of other people" "rh.few.mgh has 5 volumes instead of 30 as in lh.all.mgh" lh.all.mgh,rh.few.mgh
refused "a side in the other's column" \
    "swapped.txt line 7: p07.rh.mgz is rh by its name, but this position is lh in p01.lh.mgz; use the same order in every line" \
    fit -c people.csv -y swapped.txt -o no.safetensors
sed '3s/	[^	]*$//' mgz.txt >odd.txt
refused "a line of one side" "odd.txt line 3 has one path, unlike the previous lines" \
    fit -c people.csv -y odd.txt -o no.safetensors

# ---- CIFTI
round "CIFTI" cifti all.dscalar.nii
check "... is CIFTI out" test "$(files cifti)" = "yhat.dscalar.nii z.dscalar.nii "
check "... of the same brain models, maps named by id" nibabel brain cifti/z.dscalar.nii all.dscalar.nii
check "... a file a person too" nibabel brain cifti.split/p07_z.dscalar.nii all.dscalar.nii p07
check "... and of noise" nibabel brain cifti.predict/ys2_noise.dscalar.nii all.dscalar.nii ys2_noise
check "... of numbers" nibabel maps cifti/z.dscalar.nii 30 86
check "an array of the same numbers" fit -y all.npy -o npy.safetensors
works "... scored" score npy.safetensors -c people.csv -y all.npy -o npy -q
check "... has the same z" nibabel same cifti/z.dscalar.nii npy/z.npy
round "a list of CIFTI" ciftis dscalar.txt
check "... has the same z" nibabel same ciftis/z.dscalar.nii cifti/z.dscalar.nii
check "... and the same model" test "$(lml ciftis.safetensors)" = "$(lml cifti.safetensors)"
works "what was written is read" score cifti.safetensors -c people.csv -y cifti/yhat.dscalar.nii -o again -q
round "a dense series" series all.dtseries.nii
check "... is scalars out" nibabel brain series/z.dscalar.nii all.dscalar.nii
check "... of the same z" nibabel same series/z.dscalar.nii cifti/z.dscalar.nii
check "a mask" fit -y dscalar.txt -m mask.dscalar.nii -o small.safetensors
check "... leaves out what it says" sh -c "'$KRONORM' info small.safetensors --json | grep -q '\"n_responses\": 70,'"
no() { refused "$1" "$2" fit -c people.csv -o no.safetensors -y "$3"; }
no "other brain models" \
    "moved.txt line 7: moved.dscalar.nii: the brain models differ from those of p01.dscalar.nii; resample the files to the same grayordinates" moved.txt
refused "... of a mask" "moved_mask.dscalar.nii: the brain models differ from those of dscalar.txt; resample the files to the same grayordinates" \
    fit -c people.csv -y dscalar.txt -m moved_mask.dscalar.nii -o no.safetensors
head -n 1 people.csv >p07.csv && grep p07 people.csv >>p07.csv
printf 'p07\tmoved.dscalar.nii\n' >p07.txt
refused "... of new people" "p07.txt: the brain models differ from those of the model; resample the files to the same grayordinates" \
    score cifti.safetensors -c p07.csv -y p07.txt -o no
no "parcels" "all.pscalar.nii has CIFTI intent 3000, but must contain dense scalars or a dense series" \
    all.pscalar.nii
cp p01.dscalar.nii bare.dscalar.nii && patch bare.dscalar.nii 540 '\0'
no "CIFTI without its XML" "bare.dscalar.nii is CIFTI without the XML that describes its grayordinates" bare.dscalar.nii
cp p01.dscalar.nii long.dscalar.nii && patch long.dscalar.nii 546 '\1'
kronorm fit -c people.csv -y long.dscalar.nii -o no.safetensors -q
check "an extension that is too long" grep -Eq \
    "^kronorm: long.dscalar.nii: a header extension declares [0-9]+ bytes, but [0-9]+ are there$" "$logs/err"
sed 's/IndexCount="30"/IndexCount="29"/' p01.dscalar.nii >few.dscalar.nii
no "a list of vertices that is too long" \
    "few.dscalar.nii: a brain model of 29 grayordinates lists 30 indices instead of 29" few.dscalar.nii
sed 's/<\/BrainModel>/<\/BrainMadel>/' p01.dscalar.nii >broken.dscalar.nii
no "broken XML" "broken.dscalar.nii: the CIFTI XML is invalid in line 1 (mismatched tag)" broken.dscalar.nii
edited 's/IndexCount=\(.\)30/IndexCount=\129/' cifti.safetensors >odd.safetensors
refused "a model whose brain models do not add up" \
    "odd.safetensors: a brain model of 29 grayordinates lists 30 indices instead of 29" info odd.safetensors
# ---- overlap reads all of them, and writes the same
awk -F '\t' 'BEGIN { OFS = "\t" } { print $1, NR == 1 ? "group" : NR % 2 ? "a" : "b" }' two/scored_participants.tsv >groups.tsv
overlap() { ask_python overlap_maps.py "$@" groups.tsv; }
for name in two list; do
    works "overlap of $name" overlap $name --by group -c groups.tsv --permutations 50 -o $name.overlap -q
done
check "... two maps each, of their vertices" test "$(files two.overlap | wc -w)" -eq 24
check "... the shares of one side" overlap two/z_lh.mgh two.overlap _lh.mgh
check "... and of the other" overlap two/z_rh.mgh two.overlap _rh.mgh
check "... as GIFTI too" overlap list/z_rh.shape.gii list.overlap _rh.shape.gii
works "overlap of a file a person" overlap two.split --by group -c groups.tsv --permutations 50 -o split.overlap -q
check "... is the same" cmp split.overlap/difference_low_p_rh.mgh two.overlap/difference_low_p_rh.mgh
works "overlap of CIFTI" overlap cifti --by group -c groups.tsv --permutations 50 -o cifti.overlap -q
check "... has the same brain models" nibabel brain cifti.overlap/difference_low_p.dscalar.nii all.dscalar.nii difference_low_p
rm two/z_lh.mgh
refused "a hemisphere that is lost" "two has the z maps z_rh.mgh; there must be one file, or one per hemisphere" \
    overlap two --by group -c groups.tsv -o no
done_testing
