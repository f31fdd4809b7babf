#!/bin/sh
# 26 images as people have them: each is read, or refused or warned of with a sentence. None is silently something
# else. Prints what became of each.
. "$(dirname "$0")/lib.sh"
"$KRONORM" simulate --samples 40 --patients 4 -o study -q
sort study/train_images.txt | sed 's,	images/,	study/images/,' >list.txt
P=study/train_participants.tsv
first=$(sed -n 1p list.txt | cut -f 2)
third=$(sed -n 3p list.txt | cut -f 1)
gunzip -c "study/images/$third.nii.gz" >whole.nii
bytes=$(($(wc -c <whole.nii) - 352))

# Images and what becomes of them:
#   read     the fit succeeds without a warning
#   warned   the fit succeeds, and a warning has these words
#   refused  it fails with this sentence
messy() { # what is messy, verdict, words, arguments ...
    what=$1 verdict=$2 words=$3
    shift 3
    rm -f m.safetensors*
    kronorm fit -c "$P" -o m.safetensors --restarts 0 --folds 0 --components 2 -q "$@"
    printf '# %-45s %-8s %s\n' "$what" "$verdict" "$(head -n 1 "$logs/err" | sed 's/^kronorm[a-z ]*: //' | cut -c 1-150)" >>"$logs/table"
    if [ "$verdict" = read ] && { [ $code -ne 0 ] || [ -s "$logs/err" ]; }; then
        not_ok "$what" "it is not read as it is"
    elif [ -n "$words" ] && ! grep -qF -e "$words" "$logs/err"; then
        not_ok "$what" "nothing says $words"
    elif [ "$verdict" = refused ] && [ $code -eq 0 ]; then
        not_ok "$what" "it is read"
    elif [ "$verdict" = warned ] && { [ $code -ne 0 ] || ! grep -q warning "$logs/err"; }; then
        not_ok "$what" "it is refused, or there is no warning"
    else
        ok "$what"
    fi
}
with() { sed "3s,	.*,	$1," list.txt >odd.txt; } # another image in the place of the third
filled() { # byte, file: an image of this byte throughout
    { head -c 352 whole.nii && head -c $bytes /dev/zero | tr '\0' "$1"; } >"$2"
}
scaled() { # file, bytes of scl_slope
    cp whole.nii "$1"
    patch "$1" 112 "$2"
}

messy "the images themselves" read "" -y list.txt

# ---- values
filled '\0' zeros.nii
with zeros.nii
messy "a map of zeros" refused \
    "odd.txt: 1 image has the same value in every voxel: zeros.nii (0); correct or exclude such images with --where or --match common" -y odd.txt
filled '?' constant.nii
with constant.nii
messy "a constant map" refused "odd.txt: 1 image has the same value in every voxel: constant.nii (0.747059)" -y odd.txt
scaled large.nii '\000\000\172\104'
with large.nii
messy "a map times 1000" warned "warning: odd.txt: 1 image has another scale than most; check the unit: large.nii (" -y odd.txt
scaled small.nii '\157\022\203\072'
with small.nii
messy "a map divided by 1000" warned "warning: odd.txt: 1 image has another scale than most; check the unit: small.nii (0.00" -y odd.txt
cp "$(sed -n 7p list.txt | cut -f 2)" copy.nii.gz
with copy.nii.gz
messy "two rows with the same map" warned "warning: odd.txt: 1 image is equal to that of another row: copy.nii.gz and " -y odd.txt
with "$(sed -n 7p list.txt | cut -f 2)"
messy "... and the same file" warned "warning: odd.txt: 1 image is equal to that of another row: " -y odd.txt
{ head -c 352 whole.nii && head -c $bytes /dev/zero | tr '\0' '\377'; } >nan.nii
with nan.nii
messy "a map without any number" warned "warning: participants without a finite response are excluded, 1 of 32: $third" -y odd.txt
cp whole.nii spike.nii
patch spike.nii $((352 + 4 * (10 + 20 * (12 + 24 * 10)))) '\000\044\164\111' # a voxel of 1e6
with spike.nii
messy "a voxel of a million" warned "warning: odd.txt: 1 value is far beyond all others and is treated as missing (--outliers): $third voxel 10,12,10 is 1e+06" -y odd.txt

# ---- names
mkdir -p other
cp whole.nii other/sub-0001.nii
with other/sub-0001.nii
messy "a path that names another participant" warned "warning: odd.txt: 1 path names another participant than the ID: other/sub-0001.nii for $third" -y odd.txt
cut -f 1 list.txt >ids
{ cut -f 2 list.txt | tail -n +2; cut -f 2 list.txt | head -n 1; } | paste ids - >turned.txt
messy "paths in the place of their neighbours" warned "warning: turned.txt: 32 paths name another participant than the ID: " -y turned.txt
mkdir -p named
while IFS='	' read -r id path; do
    cp "$path" "named/sub-X$id.nii.gz"
    printf '%s\tnamed/sub-X%s.nii.gz\n' "$id" "$id"
done <list.txt | sed 's/sub-Xsub-/sub-X/' >named.txt
for f in named/*; do mv "$f" "$(echo "$f" | sed 's/sub-Xsub-/sub-X/')"; done
messy "paths with names of another system" read "" -y named.txt
head -n 1 list.txt | cat list.txt - >twice.txt
messy "an ID twice" refused "twice.txt: 1 ID occurs more than once, first on lines 1 and 33: " -y twice.txt
sed '$d' list.txt >short.txt
messy "a participant without an image" refused "" -y short.txt

# ---- masks
{ head -c 352 whole.nii; head -c 12800 /dev/zero; head -c 12800 /dev/zero | tr '\0' '>'; head -c 12800 /dev/zero | tr '\0' '?'; } >part.nii
messy "a mask with fractions" warned "warning: part.nii: the mask has values between 0 and 1; voxels of at least 0.5 are used, 3200 of 6400" -y list.txt -m part.nii
{ head -c 352 whole.nii; head -c 19200 /dev/zero | tr '\0' '>'; head -c 19200 /dev/zero | tr '\0' '='; } >low.nii
messy "... all of them low" refused "low.nii: the mask is empty; every voxel is below 0.5" -y list.txt -m low.nii
messy "a mask of zeros" refused "zeros.nii: the mask is empty; every voxel is 0" -y list.txt -m zeros.nii

# ---- files
with lost.nii.gz
messy "a missing file" refused "odd.txt line 3: lost.nii.gz cannot be opened: no such file or directory" -y odd.txt
echo hello >text.nii
with text.nii
messy "text named .nii" refused "odd.txt line 3: text.nii: 6 bytes are too few for a NIfTI header" -y odd.txt
head -c 5000 "study/images/$third.nii.gz" >cut.nii.gz
with cut.nii.gz
messy "a compressed file cut short" refused "odd.txt line 3: cut.nii.gz: the compressed data end too early, so the file is incomplete; get it again" -y odd.txt
head -c 30000 whole.nii >half.nii
with half.nii
messy "a file cut short" refused "odd.txt line 3: half.nii: the header declares 38.8 kB, but the file has 30.0 kB" -y odd.txt
cp whole.nii shape.nii
patch shape.nii 42 '\023\000'
with shape.nii
messy "another shape" refused "odd.txt line 3: shape.nii: the image has 19 x 24 x 20 voxels instead of the 20 x 24 x 20 of $first; resample the images to one space" -y odd.txt
cp whole.nii moved.nii
patch moved.nii 292 '\000\000\000\101'
with moved.nii
messy "another affine" refused "odd.txt line 3: moved.nii: row 1, column 4 of the affine is 8, but 76 in $first; resample the images to one space" -y odd.txt
scaled endless.nii '\000\000\200\177'
with endless.nii
messy "an infinite slope" refused "odd.txt line 3: endless.nii: the intensity scaling in the header (scl_slope) is inf, but must be a finite number; write the image again" -y odd.txt
cp whole.nii scan.mnc
with scan.mnc
messy "another extension" refused "odd.txt line 3: scan.mnc is not an image" -y odd.txt
cp whole.nii scan.mgz
with scan.mgz
messy "NIfTI named as MGH" refused "odd.txt line 3: scan.mgz is not an MGH file" -y odd.txt
cat "$logs/table"
done_testing
