#!/bin/sh
# Bases of the user's own: columns of a file, labels of an atlas, harmonics of a surface; axes inside them.
# nibabel makes the files, scipy's eigsh is the oracle.
. "$(dirname "$0")/lib.sh"
bases() { PYTHONDONTWRITEBYTECODE=1 /usr/bin/python3 "$here/../python/bases.py" "$@"; }
if ! bases make 2>"$logs/err"; then
    skip "bases" "nibabel is not there"
    done_testing
    exit
fi
info() { "$KRONORM" info "$1"; }
said() { info "$1" | grep -q -e "$2"; }
V="-c people.csv -y v.nii.gz --max-evals 0 --calibrate none"
S="-c people.csv -y lh.y.func.gii --max-evals 0 --calibrate none"
B="-c people.csv -y lh.y.func.gii,rh.y.func.gii --max-evals 0 --calibrate none"

# ---- a file
works "columns of a file" fit $V --basis columns.npy -o columns.safetensors -q
check "... all of them" bases columns columns.safetensors 5
check "... and info says so" said columns.safetensors "basis: columns.npy, 5 columns; components are its principal axes"
works "the leading axes" fit $V --basis columns.npy -P 2 -o two.safetensors -q
check "... as many as asked for" bases columns two.safetensors 2
works "the columns as given" fit $V --basis columns.npy --basis-axes given -o given.safetensors -q
check "... info" said given.safetensors "basis: columns.npy, 5 columns; components are its columns"
works "... score" score given.safetensors -c people.csv -y v.nii.gz -o given -q
works "folds of axes" cv -c people.csv -y v.nii.gz --basis columns.npy -P 2 --folds 3 -o cv -q
works "the leading axes of convolved processes" fit $V --basis columns.npy -P 2 --method convolved -o conv.safetensors -q
check "... as many as asked for" bases columns conv.safetensors 2
check "... info" said conv.safetensors "basis: columns.npy, 5 columns; components are its principal axes (2)"
works "... score" score conv.safetensors -c people.csv -y v.nii.gz -o conv -q
works "... another basis of that span" fit $V --basis turned.npy -P 2 --method convolved -o turned.safetensors -q
works "... score" score turned.safetensors -c people.csv -y v.nii.gz -o turned -q
check "... says the same of people by models without them" bases alike conv turned
misused "fewer components than columns given" \
    ": --components is 2, but with --basis-axes given the components are the 5 columns of the basis; omit --components" \
    fit $V --basis columns.npy --basis-axes given -P 2 -o x.safetensors
misused "more components than columns" ": --components is 6, but the given basis has 5 columns" \
    fit $V --basis columns.npy -P 6 -o x.safetensors
works "a basis without a constant" fit $V --basis centred.npy -o centred.safetensors
check "... is warned of" grep -q "warning: the basis explains 0% of a uniform shift of all responses, so effects common to all responses count as noise; add a constant column" "$logs/err"

refused "a basis of other responses" "short.npy has 119 rows, but must have 120, one per response" \
    fit $V --basis short.npy -o x.safetensors
refused "a number that is none" "nan.npy: row 4 column 3 is not finite" fit $V --basis nan.npy -o x.safetensors
fails "bands by fits that would have another basis" 1 \
    "kronorm: --bands jackknife: the model was fitted with a given basis, which its refits would need" \
    centiles conv.safetensors --over age --bands jackknife -c people.csv -y v.nii.gz -o bands

misused "a word that is none" ": --basis is 'label:atlas.nii.gz', but must be pca, FILE.npy, labels:ATLAS or harmonics:SURF.gii,K" \
    fit $V --basis label:atlas.nii.gz -o x.safetensors

# ---- labels
works "an atlas of two labels" fit $V --basis labels:atlas.nii.gz -o atlas.safetensors -q
check "... two columns" bases columns atlas.safetensors 2
check "... info" said atlas.safetensors "basis: labels:atlas.nii.gz, 2 columns"
refused "a label outside the mask" \
    "label 17 of atlas.nii.gz has no voxel inside the mask; set it to 0, or use a larger mask" \
    fit $V -m mask.nii.gz --basis labels:atlas.nii.gz -o x.safetensors
refused "an atlas elsewhere" \
    "moved.nii.gz: row 1, column 1 of the affine is 2, but 1 in v.nii.gz; resample the images to one space" \
    fit $V --basis labels:moved.nii.gz -o x.safetensors
works "labels of a surface" fit $S --basis labels:lh.octants.label.gii -o octants.safetensors -q
check "... eight" bases columns octants.safetensors 8
works "'???' is no label" fit $S --basis labels:lh.unknown.label.gii -o unknown.safetensors -q
check "... eight" bases columns unknown.safetensors 8
works "two hemispheres" fit $B --basis labels:lh.octants.label.gii,lh.octants.label.gii -o both.safetensors -q
check "... have labels of their own" bases columns both.safetensors 16
refused "values that are no labels" \
    "lh.half.func.gii has the value 3.5, but labels must be whole numbers up to 16777216" \
    fit $S --basis labels:lh.half.func.gii -o x.safetensors
refused "one atlas for two hemispheres" \
    "lh.octants.label.gii has labels for one image, but lh.y.func.gii,rh.y.func.gii has two images per participant" \
    fit $B --basis labels:lh.octants.label.gii -o x.safetensors
printf 'age,r1,r2\n' >table.csv
tail -n +2 people.csv | awk '{ printf "%s,%.4f,%.4f\n", $1, $1 / 10 + NR % 7, NR % 5 }' >>table.csv
misused "labels of a table" ": --basis: atlas.nii.gz needs images as responses, but table.csv is a table" \
    fit -c people.csv -y table.csv --targets r1,r2 --basis labels:atlas.nii.gz -o x.safetensors

# ---- harmonics
works "harmonics" fit $S --basis harmonics:lh.sphere.surf.gii,9 --basis-axes given -o h.safetensors -q
if /usr/bin/python3 -c 'import scipy' 2>/dev/null; then
    check "... are those of eigsh" bases harmonics h.safetensors lh.sphere.surf.gii 9
else
    skip "... are those of eigsh" "scipy is not there"
fi
check "... info" said h.safetensors "basis: harmonics:lh.sphere.surf.gii,9, 9 columns; components are its columns"
works "... of two hemispheres" fit $B --basis harmonics:lh.sphere.surf.gii,rh.sphere.surf.gii,4 -P 3 -o h2.safetensors -q
check "... the leading axes of both" bases columns h2.safetensors 3
works "... score" score h2.safetensors -c people.csv -y lh.y.func.gii,rh.y.func.gii -o h2 -q
works "... cv" cv -c people.csv -y lh.y.func.gii --basis harmonics:lh.sphere.surf.gii,6 --folds 3 -o cv_h -q
misused "without a number" \
    ": --basis is 'harmonics:lh.sphere.surf.gii', but must be harmonics:SURF.gii,K or harmonics:LEFT.gii,RIGHT.gii,K with K from 1 on" \
    fit $S --basis harmonics:lh.sphere.surf.gii -o x.safetensors
refused "another surface" "lh.short.surf.gii has 641 vertices instead of 642 as in lh.y.func.gii" \
    fit $S --basis harmonics:lh.short.surf.gii,5 -o x.safetensors
misused "an image for a surface" ": v.nii.gz is not a surface (.gii)" fit $S --basis harmonics:v.nii.gz,5 -o x.safetensors
refused "a triangle that cannot be" "lh.bad.surf.gii: triangle 7 refers to vertex 642, but the vertices are 0 to 641" \
    fit $S --basis harmonics:lh.bad.surf.gii,5 -o x.safetensors
refused "no coordinates" \
    "lh.no.surf.gii has no data array of NIFTI_INTENT_POINTSET, but a surface needs coordinates and triangles" \
    fit $S --basis harmonics:lh.no.surf.gii,5 -o x.safetensors
refused "a vertex nowhere" "lh.nan.surf.gii: a coordinate of vertex 4 is not finite" \
    fit $S --basis harmonics:lh.nan.surf.gii,5 -o x.safetensors
misused "one surface for two hemispheres" \
    ": --basis: harmonics of one surface, but lh.y.func.gii,rh.y.func.gii has two images per participant" \
    fit $B --basis harmonics:lh.sphere.surf.gii,5 -o x.safetensors
misused "harmonics of a table" \
    ": --basis: harmonics need responses at the vertices of lh.sphere.surf.gii, but table.csv is a table" \
    fit -c people.csv -y table.csv --targets r1,r2 --basis harmonics:lh.sphere.surf.gii,5 -o x.safetensors
done_testing
