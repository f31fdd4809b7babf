#!/bin/sh
# What the page says is true of what it is made of, and no more.
. "$(dirname "$0")/lib.sh"

make_tables
awk -F , 'NR == 1 || NR <= 31' regions.csv >train.csv
awk -F , 'BEGIN { OFS = "," } NR == 1 { print $0, "group"; next } NR > 31 { print $0, NR < 35 ? "patient" : "control" }' \
    regions.csv >test.csv
works "fit" fit -c train.csv -y train.csv --use age,sex,site --targets '?h_*' -o model.safetensors
head -n 2 test.csv >single.csv
works "one person" score model.safetensors -c single.csv -y single.csv -o single
works "... has a page" report model.safetensors --scored single -o single.html
check "... of one person" grep -q '^Report of 1 participant, 4 responses: single.html' "$logs/out"
check "... who says nothing of the model: training does" grep -q 'training participants (each held out in turn)' single.html
check "... and a group that there is not is not spoken of" sh -c '! grep -q "without group=\|without the cases" single.html'

works "people against controls of their own" score model.safetensors -c test.csv -y test.csv --reference group=control -o own
works "... have a page" report model.safetensors --scored own -o own.html
check "... which says whom p are against" grep -q 'The reference sample has 7 scored participants with group=control' own.html

works "only predictions" score model.safetensors -c test.csv -y test.csv --write yhat -o bare
fails "... have no page" 1 "kronorm: bare has no z maps; run score with --write z" \
    report model.safetensors --scored bare -o x.html

works "cv" cv -c train.csv -y train.csv --use age,sex,site --targets '?h_*' --folds 3 -o held_out
works "... has a page" report held_out -o cv.html
check "... that counts nobody of training" sh -c '! grep -q "[^0-9]0 training participants" cv.html'

works "one covariate" fit -c train.csv -y train.csv --use age --targets '?h_*' -o age.safetensors
works "... has curves" report age.safetensors -o age.html --figures figures
check "... at nothing else" sh -c '! grep -q "(at )" age.html'
check "... with the name of the response beside the numbers" \
    sh -c 'head -n 1 figures/curve-1.csv | grep -qxF response,kind,id,at,centile,x,value,low,high,z && sed -n 2p figures/curve-1.csv | grep -q "^[lr]h_[ab],curve,"'

works "a cohort" simulate --samples 60 --patients 4 --regions 12 --visits 2 --size small -o study
works "... a model" fit -c study/train_participants.tsv --use age,sex,site -y study/train_regions.csv -o norm.safetensors
works "... to give away" export norm.safetensors -o shared.safetensors
works "... has a page" report shared.safetensors -o shared.html
check "... which is nobody's data" sh -c '! grep -qi "personal data" "$1" && grep -q "No personal data" shared.html' sh "$logs/out"
check "... and shows no empty figures of people" sh -c '! grep -q "[^0-9]0 training participants" shared.html && grep -q "The model contains no individual data" shared.html'
works "... scored with" score shared.safetensors -c study/test_participants.tsv -y study/test_regions.csv -o given
works "... has a page" report shared.safetensors --scored given -o given.html
check "... that cannot know who was in training" sh -c '! grep -q "No scored participant is in the training sample" given.html'
works "changes" change norm.safetensors -c study/visits_participants.tsv -y study/visits_regions.csv --visit session --reference group=control -o changed
works "... have a page" report norm.safetensors --scored changed -o changed.html
check "... that compares them with those of stable people" sh -c 'grep -q "extreme-value statistic of the change" changed.html && ! grep -q "with the average of" changed.html'
check "... and have no line that is not drawn" sh -c '! grep -q "Dashed line: p = 0.05" changed.html || grep -q ">p = 0.05<" changed.html'
done_testing
