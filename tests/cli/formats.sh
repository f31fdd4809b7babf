#!/bin/sh
# Format in is format out; which maps, in which files.
. "$(dirname "$0")/lib.sh"
make_tables
make_images
"$KRONORM" fit -c people.csv -y thickness.csv -o table.safetensors -q
"$KRONORM" fit -c study/train_participants.tsv -y study/train_images.txt -m study/mask.nii.gz \
    -o images.safetensors -q
files() { (cd "$1" && ls -A | tr '\n' ' '); }
T="score table.safetensors -c people.csv -y thickness.csv"
I="score images.safetensors -c study/test_participants.tsv -y study/test_images.txt"
tables="abnormality.json abnormality.tsv metrics.json metrics.tsv scored_participants.json scored_participants.tsv summary.json"
with_maps="abnormality.json abnormality.tsv metrics.json metrics.tsv metrics_MSLL.nii.gz metrics_R2.nii.gz metrics_z2.nii.gz scored_participants.json scored_participants.tsv summary.json"

works "a table in" $T -o t
check "... is a csv out" test "$(files t)" = "$tables z.csv z.json "
check "... with the names of its columns" test "$(head -n 1 t/z.csv)" = \
    participant_id,lh_a,lh_b,rh_a,rh_b
check "... and of its people" test "$(column t/z.csv participant_id | tr '\n' ' ')" = \
    "$(column people.csv participant_id | tr '\n' ' ')"
works "images in" $I -o i
check "... are images out" test "$(files i)" = "$with_maps z.nii.gz "
check "an image's metrics are named by voxel" sh -c \
    "sed -n 2p i/metrics.tsv | grep -Eq '^[0-9]+,[0-9]+,[0-9]+	'"

# an array of numbers as numpy writes it: 40 x 4 doubles, made of the table
awk -F, 'NR > 1 { print $2, $3, $4, $5 }' thickness.csv >numbers
if /usr/bin/python3 -c "import numpy; numpy.save('y.npy', numpy.loadtxt('numbers'))" 2>/dev/null; then
    works "an array in" fit -c people.csv -y y.npy -o array.safetensors
    check "... is matched by position, with a warning" grep -q 'warning: .*no IDs to match by' "$logs/err"
    works "... and scored" score array.safetensors -c people.csv -y y.npy -o a
    check "... as an array out" test "$(files a)" = "$tables z.npy "
    "$KRONORM" score array.safetensors -c people.csv -y y.npy -o ac --format csv -q
    check "... which --format csv makes a table" test "$(head -n 1 ac/z.csv)" = \
        participant_id,response_1,response_2,response_3,response_4
    awk 'FNR == 1 { next } { sub(/^[^,]*,/, "") } 1' ac/z.csv >"$logs/a"
    awk 'FNR == 1 { next } { sub(/^[^,]*,/, "") } 1' t/z.csv >"$logs/b"
    check "... of the same z as from the table" cmp "$logs/a" "$logs/b"
    refused "an array for a model of tables" "y.npy is an array, but the model was trained on a table" \
        score table.safetensors -c people.csv -y y.npy -o no
else
    skip "an array in" "no numpy"
fi
sed 's/	C	/	A	/' study/test_participants.tsv >known.tsv
refused "images for a model of tables" \
    "study/test_images.txt is images, but the model was trained on a table" \
    score table.safetensors -c known.tsv -y study/test_images.txt -o no
refused "a table for a model of images" "thickness.csv is a table, but the model was trained on images" \
    score images.safetensors -c people.csv -y thickness.csv -o no

works "--format csv of images" $I -o ic --format csv
check "... one column a voxel" test \
    "$(head -n 1 ic/z.csv | tr , '\n' | grep -c '^voxel_[0-9]*$')" -eq "$(($(wc -l <ic/metrics.tsv) - 1))"
works "--format npy of images" $I -o in --format npy
check "... an array of samples x voxels" sh -c \
    "head -c 128 in/z.npy | grep -q \"'descr': '<f4'.*'shape': (9, $(($(wc -l <ic/metrics.tsv) - 1)))\""

works "--write z,yhat,ys2_model" $I -o all --write z,yhat,ys2_model
check "... adds ys2_noise" test "$(files all)" = \
    "$with_maps yhat.nii.gz ys2_model.nii.gz ys2_noise.nii.gz z.nii.gz "
check "... and z is as it was" cmp all/z.nii.gz i/z.nii.gz
works "--split" $I -o split --split
check "... one file a person, named by the id" test "$(ls split | grep -c '^sub-[0-9]*_z.nii.gz$')" -eq 9
check "... and not the joint one" test ! -e split/z.nii.gz
works "--split of a table" $T -o tsplit --split --write z,yhat
check "... one row each" test "$(cat tsplit/s07_z.csv | wc -l)" -eq 2
check "... the same as in the joint one" sh -c \
    '[ "$(tail -n 1 tsplit/s07_z.csv)" = "$(grep ^s07, t/z.csv)" ]'
sed 's/^s07,/s\/7,/' people.csv >slash.csv
sed 's/^s07,/s\/7,/' thickness.csv >slash_y.csv
refused "an id that cannot be a file name" "ID 's/7' cannot be a file name, because it contains a slash" \
    score table.safetensors -c slash.csv -y slash_y.csv -o no --split

works "predict" predict table.safetensors -c people.csv -o p
check "... writes mean and variances" test "$(files p)" = "scored_participants.json scored_participants.tsv yhat.csv yhat.json ys2_model.csv ys2_model.json ys2_noise.csv ys2_noise.json "
check "... the noise in one row, which is nobody's" test "$(wc -l <p/ys2_noise.csv)" -eq 2
check "... of the responses alone" test "$(head -n 1 p/ys2_noise.csv)" = lh_a,lh_b,rh_a,rh_b
works "predict --write yhat" predict table.safetensors -c people.csv -o py --write yhat
check "... writes that alone" test "$(files py)" = "scored_participants.json scored_participants.tsv yhat.csv yhat.json "
check "... the same" cmp py/yhat.csv p/yhat.csv
works "predict images" predict images.safetensors -c study/test_participants.tsv -o pi
check "... as images" test "$(files pi)" = "scored_participants.json scored_participants.tsv yhat.nii.gz ys2_model.nii.gz ys2_noise.nii.gz "
"$KRONORM" score table.safetensors -c people.csv -y thickness.csv -o tw --write z,yhat,ys2_model \
    --training-rows plain -q
check "predict and score agree on the mean" cmp tw/yhat.csv p/yhat.csv
"$KRONORM" fit -c people.csv -y thickness.csv --calibrate none -o bare.safetensors -q
"$KRONORM" score bare.safetensors -c people.csv -y thickness.csv -o bare --write z,yhat --training-rows plain -q
check "calibration moves no mean" cmp bare/yhat.csv tw/yhat.csv
check "... and of 40 people makes every z smaller, none another sign" sh -c 'paste -d, bare/z.csv tw/z.csv | awk -F, "
    NR > 1 { for (i = 2; i <= 5; i++) { if (!(\$i * \$(i + 5) > 0 && \$i * \$i > \$(i + 5) * \$(i + 5))) exit 1; n++ } }
    END { exit n != 160 }"'
paste -d, thickness.csv tw/yhat.csv tw/ys2_model.csv bare/z.csv >joint.csv
check "without it z = (y - yhat) / sqrt(ys2_model + ys2_noise)" awk -F, '
    FNR == NR { if (FNR == 2) for (i = 1; i <= 4; i++) noise[i] = $i; next }
    FNR > 1 { for (i = 1; i <= 4; i++) {
        z = ($(1 + i) - $(6 + i)) / sqrt($(11 + i) + noise[i]); d = z - $(16 + i)
        if (!(d * d < 1e-10 * (1 + z * z))) { print $1, i, z, $(16 + i); exit 1 } n++ } }
    END { exit n != 160 }' p/ys2_noise.csv joint.csv
"$KRONORM" predict table.safetensors -c people.csv -o total --write ys2_model,ys2 --format csv -q
"$KRONORM" score table.safetensors -c people.csv -y thickness.csv -o totals --write ys2 --training-rows plain -q
check "ys2 is the variance of both" awk -F, '
    FNR == NR { if (FNR == 2) for (i = 1; i <= 4; i++) noise[i] = $i; next }
    FNR > 1 { for (i = 1; i <= 4; i++) { d = $(6 + i) / ($(1 + i) + noise[i]) - 1; if (!(d * d < 1e-12)) exit 1; n++ } }
    END { exit n != 160 }' total/ys2_noise.csv - <<EOF
$(paste -d, total/ys2_model.csv total/ys2.csv)
EOF
check "... of predict and of score" cmp total/ys2.csv totals/ys2.csv

# ---- NaN voxels
first=$(head -n 1 study/test_images.txt | cut -f 1)
sed 's,images/,study/images/,' study/test_images.txt >list.txt
gunzip -c "study/images/$first.nii.gz" >hole.nii
voxel=$(head -n 1 ic/z.csv | cut -d, -f 1001 | tr -d 'a-z_')
patch hole.nii $((352 + 4 * voxel)) '\000\000\300\177'
sed "1s,	.*,	hole.nii," list.txt >hole.txt
works "a NaN voxel in a subject to be scored" score images.safetensors \
    -c study/test_participants.tsv -y hole.txt -o hole --format csv
check "... has no z there" test "$(sed -n 2p hole/z.csv | cut -d, -f 1001)" = n/a
sed -n 2p hole/z.csv | tr , '\n' >"$logs/a"
sed -n 2p ic/z.csv | tr , '\n' >"$logs/b"
check "... and its own z everywhere else" test "$(diff "$logs/a" "$logs/b" | grep -c '^<')" -eq 1
check "... and others are as they were" sh -c \
    '[ "$(sed 1,2d hole/z.csv)" = "$(sed 1,2d ic/z.csv)" ]'
check "... and it still has an abnormality" sh -c "sed -n 2p hole/abnormality.tsv | cut -f 3 | grep -q '^[0-9]'"
first=$(head -n 1 study/train_images.txt | cut -f 1)
gunzip -c "study/images/$first.nii.gz" >hole.nii
patch hole.nii $((352 + 4 * voxel)) '\000\000\300\177'
sed 's,images/,study/images/,' study/train_images.txt | sed "1s,	.*,	hole.nii," >hole.txt
works "a NaN voxel in training is filled in" fit -c study/train_participants.tsv -y hole.txt \
    -m study/mask.nii.gz -o filled.safetensors
check "... and told" grep -q '^  Missing values    0.0% of the cells of 1 response were imputed (' "$logs/out"
works "with --missing-responses drop it" fit -c study/train_participants.tsv -y hole.txt \
    -m study/mask.nii.gz -o hole.safetensors --missing-responses drop
check "... is left out, and counted" grep -q '^  Excluded          1 voxel, constant or not finite$' "$logs/out"
"$KRONORM" score hole.safetensors -c study/test_participants.tsv -y study/test_images.txt -o left \
    --format csv -q
check "... and comes back as NaN for everybody" test \
    "$(sed 1d left/z.csv | cut -d, -f 1001 | sort | uniq -c | tr -d ' ')" = 9n/a
done_testing
