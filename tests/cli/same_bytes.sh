#!/bin/sh
# The bytes of a model depend on inputs, options and seed alone.
. "$(dirname "$0")/lib.sh"
make_tables
make_images
F="fit --use age,sex -q"
"$KRONORM" $F -c study/train_participants.tsv -y study/train_images.txt -o one.safetensors
"$KRONORM" $F -c study/train_participants.tsv -y study/train_images.txt -o two.safetensors
check "twice the same" cmp one.safetensors two.safetensors
mkdir -p far/away
cp -r study far/away/renamed
mv far/away/renamed/train_images.txt far/away/renamed/list.txt
(cd far && "$KRONORM" $F -c away/renamed/train_participants.tsv -y "$PWD/away/renamed/list.txt" \
    -o ../three.safetensors)
check "from other names of files" same_model one.safetensors three.safetensors
cp -r study far/away/study
(cd far && "$KRONORM" $F -c away/study/train_participants.tsv -y "$PWD/away/study/train_images.txt" -o ../moved.safetensors)
check "from other folders" cmp one.safetensors moved.safetensors
"$KRONORM" $F -c study/train_participants.tsv -y study/train_images.txt -o four.safetensors --seed 1
check "1 is the default seed" cmp one.safetensors four.safetensors
"$KRONORM" $F -c study/train_participants.tsv -y study/train_images.txt -o five.safetensors --seed 2
check "another seed, another model" sh -c '! cmp -s one.safetensors five.safetensors'
for i in 1 2; do
    "$KRONORM" $F -c people.csv -y thickness.csv -o t$i.safetensors
    "$KRONORM" score t1.safetensors -c people.csv -y thickness.csv -o s$i -q
    "$KRONORM" score one.safetensors -c study/test_participants.tsv -y study/test_images.txt \
        -o i$i -q
    "$KRONORM" simulate --samples 12 --patients 1 --seed 5 -o sim$i -q
done
check "twice the same, of a table" cmp t1.safetensors t2.safetensors
check "twice the same z" cmp s1/z.csv s2/z.csv
check "twice the same maps" cmp i1/z.nii.gz i2/z.nii.gz
check "twice the same abnormality" cmp i1/abnormality.tsv i2/abnormality.tsv
check "twice the same study" diff -r sim1 sim2
check "the log says when and how fast, the model does not" sh -c \
    "grep -q seconds one.safetensors.log.json && ! grep -q seconds one.safetensors"
check "no folder is in the model" sh -c "! grep -q -e study -e '$work' one.safetensors"
for m in "--noise iso -P 3" "--method kronprod" "--method stgpr" "--preset paper -P 3 --max-evals 3"; do
    for i in 1 2; do
        "$KRONORM" $F $m -c people.csv -y thickness.csv -o again$i.safetensors --force
    done
    check "twice the same with $m" cmp again1.safetensors again2.safetensors
done
done_testing
