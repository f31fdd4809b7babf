#!/bin/sh
# Images that are not what they should be: one sentence, exit code 1, nothing left behind.
. "$(dirname "$0")/lib.sh"
make_images
first=$(head -n 1 study/train_images.txt | cut -f 1)
gunzip -c "study/images/$first.nii.gz" >whole.nii
sed 's,images/,study/images/,' study/train_images.txt >list.txt

with() { # another image: list.txt has it in the place of the third
    sed "3s,	.*,	$1," list.txt >odd.txt
}
fit() { # promise, sentence, options ...
    promise=$1 sentence=$2
    shift 2
    refused "$promise" "$sentence" fit -c study/train_participants.tsv -o m.safetensors "$@"
}

cp whole.nii scan.mnc
with scan.mnc
fit "a wrong extension in a list" \
    "odd.txt line 3: scan.mnc is not an image (.nii, .nii.gz, .hdr, .img, .mgh, .mgz, .gii)" -y odd.txt
fit "a wrong extension" "scan.mnc is not a known type of responses; use .nii, .nii.gz, .hdr, .mgh, .mgz, .gii, .txt (a list of images), .csv, .tsv or .npy" -y scan.mnc
cp whole.nii scan.mgz
with scan.mgz
fit "NIfTI named as MGH" "odd.txt line 3: scan.mgz is not an MGH file" -y odd.txt
with lost.nii.gz
fit "an image that is not there" \
    "odd.txt line 3: lost.nii.gz cannot be opened: no such file or directory" -y odd.txt
fit "a list that is not there" "lost.txt cannot be opened: no such file or directory" -y lost.txt
echo hello >text.nii
with text.nii
fit "text in the place of an image" "odd.txt line 3: text.nii: 6 bytes are too few for a NIfTI header" -y odd.txt

cp whole.nii slope.nii
patch slope.nii 112 '\0\0\200\177'
with slope.nii
fit "a slope without end" "odd.txt line 3: slope.nii: the intensity scaling in the header (scl_slope) is inf, but must be a finite number; write the image again" -y odd.txt
escape=$(printf 'a\033[31m\177\302\233b.nii')
fit "control characters in a path, which a bracket makes a pattern" "a?[31m???b.nii: no file matches this pattern" -y "$escape"
escape=$(printf 'a\033\177\302\233b.nii')
fit "... and in one that is none" "a????b.nii cannot be opened: no such file or directory" -y "$escape"
misused "... and in an option" " fit: unknown option --a?b (see 'kronorm fit --help')" fit "--$(printf 'a\033b')"
cp list.txt odd.txt
printf 's1\tx\r\033\n' >>odd.txt
fit "... and in a list" "odd.txt line 20: x?? is not an image (.nii, .nii.gz, .hdr, .img, .mgh, .mgz, .gii)" -y odd.txt

head -c 352 whole.nii >header.nii
with header.nii
fit "a header without data" \
    "odd.txt line 3: header.nii: the header declares 38.8 kB, but the file has 352 bytes" -y odd.txt
gzip -c header.nii >header.nii.gz
with header.nii.gz
fit "a compressed header without data" \
    "odd.txt line 3: header.nii.gz: the header declares 38.8 kB, but the decompressed file has 352 bytes" \
    -y odd.txt
head -c 5000 "study/images/$first.nii.gz" >cut.nii.gz
with cut.nii.gz
fit "a compressed image cut short" \
    "odd.txt line 3: cut.nii.gz: the compressed data end too early, so the file is incomplete; get it again" -y odd.txt

head -c 352 whole.nii >huge.nii
patch huge.nii 40 '\003\000\350\003\350\003\224\021' # 1000 x 1000 x 4500 floats
head -c 25 /dev/zero >>huge.nii
export OPENBLAS_NUM_THREADS=1 # its buffers count too
refused_small() { # as a shell with 4 GB of memory
    promise="377 bytes that ask for 18 GB are refused before the memory is asked for"
    if ! (ulimit -v 4000000 && "$KRONORM" --version) >/dev/null 2>&1; then
        skip "$promise: $*" "the command does not start in 4 GB, as under a sanitizer"
        return
    fi
    (ulimit -v 4000000 && "$KRONORM" fit -c study/train_participants.tsv -o m.safetensors -q "$@") \
        >"$logs/out" 2>"$logs/err"
    code=$?
    if [ $code -eq 1 ] && grep -q 'the header declares 18.0 GB' "$logs/err"; then
        ok "$promise: $*"
    else
        not_ok "$promise" "$*"
    fi
}
fit "a header that promises more than the file has" \
    "huge.nii: the header declares 18.0 GB, but the file has 377 bytes" -y huge.nii
refused_small -y huge.nii
refused_small -y list.txt -m huge.nii
gzip -k huge.nii
refused_small -y huge.nii.gz

# 4 images of 160 x 160 x 160 zeros: the pass that finds a mask needs twice 49 MB
head -c 352 whole.nii >vast.nii
patch vast.nii 40 '\004\000\240\000\240\000\240\000\004\000'
truncate -s $((352 + 4 * 4 * 160 * 160 * 160)) vast.nii
printf 'age\n20\n30\n45\n60\n' >four.csv
kronorm fit -c four.csv -y vast.nii -o m.safetensors --threads 2 --memory 90M
check "finding a mask counts for --memory" grep -q "^kronorm: this fit needs at least .* but --memory allows 90.0 MB" "$logs/err"

cp whole.nii shape.nii
patch shape.nii 42 '\023\000'
with shape.nii
fit "an image of another shape" \
    "odd.txt line 3: shape.nii: the image has 19 x 24 x 20 voxels instead of the 20 x 24 x 20 of study/images/$first.nii.gz; resample the images to one space" \
    -y odd.txt
fit "a mask of another shape" "shape.nii: the image has 19 x 24 x 20 voxels instead of the 20 x 24 x 20 of list.txt; resample the images to one space" \
    -y list.txt -m shape.nii
cp whole.nii moved.nii
patch moved.nii 292 '\000\000\000\101'
with moved.nii
fit "an image of another affine" \
    "odd.txt line 3: moved.nii: row 1, column 4 of the affine is 8, but 76 in study/images/$first.nii.gz; resample the images to one space" \
    -y odd.txt
fit "a mask of another space" \
    "moved.nii: row 1, column 4 of the affine is 8, but 76 in list.txt; resample the images to one space" -y list.txt -m moved.nii
(head -c 352 whole.nii && head -c 38400 /dev/zero) >empty.nii
fit "an empty mask" "empty.nii: the mask is empty; every voxel is 0" -y list.txt -m empty.nii
fit "a mask that is no image" "list.txt is not an image (.nii, .nii.gz, .hdr, .img, .mgh, .mgz, .gii)" \
    -y list.txt -m list.txt
misused "target columns of images" ": --targets is for tables, but list.txt is not a table" \
    fit -c study/train_participants.tsv -y list.txt --targets 'lh_*' -o m.safetensors
head -n 1 list.txt | cat list.txt - >twice.txt
fit "an id twice in a list" \
    "twice.txt: 1 ID occurs more than once, first on lines 1 and 20: $first; if these are sessions of one participant, use --session" -y twice.txt

works "the images themselves are fine" fit -c study/train_participants.tsv -y list.txt \
    -m study/mask.nii.gz -o model.safetensors -q
sed 's,images/,study/images/,' study/test_images.txt >new.txt
sed '2s,	.*,	moved.nii,' new.txt >odd.txt
refused "a new image of another affine" \
    "odd.txt line 2: moved.nii: row 1, column 4 of the affine is 8, but 76 in $(head -n 1 new.txt | cut -f 2); resample the images to one space" \
    score model.safetensors -c study/test_participants.tsv -y odd.txt -o scored
head -n 2 study/test_participants.tsv >one.tsv
printf '%s\tmoved.nii\n' "$(tail -n 1 one.tsv | cut -f 1)" >one.txt
refused "a new image that is not in the model's space" \
    "one.txt: row 1, column 4 of the affine is 8, but 76 in the model; resample the images to one space" \
    score model.safetensors -c one.tsv -y one.txt -o scored
done_testing
