#!/bin/sh
# score and predict of people whom ranks share: the folder of one process, to the byte and in its words; and of a rank that
# fails one sentence, from which all end, and nothing in the folder.
. "$(dirname "$0")/lib.sh"
export OPENBLAS_NUM_THREADS=1
seconds='^    "\(score\|predict\)": [0-9]' # of the summary

told() { # what it said, in one voice; but for progress, where it takes long
    for f in one.err err; do grep -vE ": [0-9]+ of [0-9]+$|the responses go to a scratch file" "$logs/$f" >"$logs/$f.told"; done
    diff "$logs/one.out" "$logs/out" && diff "$logs/one.err.told" "$logs/err.told"
}
# The folder of one process, then of some.
same() { # what, numbers of ranks, arguments without -o ...
    what=$1 numbers=$2
    shift 2
    rm -rf one out
    env -u KRONORM_COMM "$KRONORM" "$@" -o out >"$logs/one.out" 2>"$logs/one.err" || not_ok "$what" "one process: $(cat "$logs/one.err")"
    mv out one
    for n in $numbers; do
        rm -rf out
        ranks "$n" "$KRONORM" "$@" -o out
        check "$what, $n ranks" [ $code -eq 0 ]
        check "... the folder of one process" diff -r -I "$seconds" out one
        check "... in one voice, with its words" told
    done
}

# ---- tables ----------------------------------------------------------------------------------------

make_tables
head -n 31 people.csv >old_people.csv
head -n 31 thickness.csv >old_thickness.csv
# new people and old ones, of whom two have changed; two without an age, one far from training, one of another site; cells and a
# person missing
awk -F, 'BEGIN { OFS = "," } NR == 1 { print $0, "group"; next } NR > 21 {
    if (NR == 25 || NR == 38) $2 = ""
    if (NR == 36) $2 = 150
    if (NR == 40) $4 = "C"
    print $0, NR % 3 ? "control" : "patient" }' people.csv >new.csv
awk -F, 'BEGIN { OFS = "," } NR > 21 && NR % 5 == 0 { $3 = "" } NR == 37 { $2 = $3 = $4 = $5 = "" } NR == 28 { $4 += 0.5 }
    NR == 34 { $2 = $3 = $4 = $5 = 0 } NR == 1 || NR > 21' thickness.csv >new_y.csv
works "fit" fit -c old_people.csv -y old_thickness.csv --use age,sex,site -o model.safetensors
all="-c new.csv -y new_y.csv --missing drop --unseen prior"
same "a table" "1 2 3 5" score model.safetensors $all
check "... of whom two are dropped" [ "$(grep -c dropped out/people.tsv)" -eq 2 ]
check "... and some are of training, two no more as they were" grep -q 'ids of training but other responses (2)' "$logs/err"
same "more ranks than people" 20 score model.safetensors $all
same "all maps, and people with a label" "2 5" score model.safetensors $all --label group=patient --write z,yhat,ys2_model,fdr,ys2
check "... of which the AUC is told" grep -q '"top": {' out/summary.json
same "probabilities by people of the list" 3 score model.safetensors $all --reference group=control
same "no z among the maps" 2 score model.safetensors $all --write yhat
same "a file for each person" "2 5" score model.safetensors $all --split --write z,fdr
same "an array" 3 score model.safetensors $all --format npy --training-rows plain --threshold 1.5
same "predictions" "1 2 3 5 20" predict model.safetensors -c new.csv --missing drop --unseen prior
same "... with the noise of each person" 2 predict model.safetensors -c new.csv --missing drop --unseen prior --write yhat,ys2
same "... a file for each person" 3 predict model.safetensors -c new.csv --missing drop --unseen prior --split
make_visits
awk -F, -v OFS=, 'NR == 1 || NR % 5 == 2 { if (NR > 20) { $1 = "n" NR; $8 = "new" } $10 += NR > 1 ? 0.02 : ""; print }' visits.csv >further.csv
sed -i '1s/.*/participant_id,age,sex,code,site,scanner,tesla,family,row,a,b,c,d/' further.csv
works "fit of groups" fit -c visits.csv -y visits.csv --targets a,b,c,d --use age,sex --group family -o groups.safetensors
same "known groups" 3 score groups.safetensors -c further.csv -y further.csv --known-groups --write z,ys2_model,ys2

ranks 2 "$KRONORM" score model.safetensors $all -o out --force -q
check "--quiet is" [ $code -eq 0 -a ! -s "$logs/out" -a "$(grep -vc warning "$logs/err")" = 0 ]
mkdir split
ranks 2 "$KRONORM" score model.safetensors $all -o split --split
head -n 12 new.csv >fewer.csv
ranks 3 "$KRONORM" score model.safetensors -c fewer.csv -y new_y.csv --missing drop --unseen prior -o split --split --force
check "maps of people who are no more in the list leave with --force" [ "$(ls split | grep -c _z)" = "$(grep -c used split/people.tsv)" ]

# ---- arrays: many rounds of batches, of each method that has its own height -----------------------

"$FIT_CHECK" data 150 2100 whole a
works "fit of an array" fit -c a.csv -y a.npy --components 2 --folds 2 --threads 1 --max-evals 4 -o a.safetensors
same "people of several rounds" "2 3" score a.safetensors -c a.csv -y a.npy --training-rows plain --write z,ys2 --threads 1
same "people of training, by their stored z" 2 score a.safetensors -c a.csv -y a.npy --threads 1
"$FIT_CHECK" data 2000 2100 whole many
same "values in a scratch file" 2 score a.safetensors -c many.csv -y many.npy --threads 1 --memory 52M --scratch .
check "... of which each rank has its own" grep -q 'the responses go to a scratch file of 8.5 MB' "$logs/err"
works "fit of each response alone" fit -c people.csv -y thickness.csv --use age --method stgpr --folds 2 -o alone.safetensors
same "every response alone" "2 3" score alone.safetensors -c people.csv -y thickness.csv --training-rows plain --write z,yhat,ys2_model

# ---- images ----------------------------------------------------------------------------------------

make_images
works "fit of images" fit -c study/train_participants.tsv -y study/train_images.txt -m study/mask.nii.gz -P 4 -o images.safetensors
new="-c study/test_participants.tsv -y study/test_images.txt"
same "a 4D image" "2 5" score images.safetensors $new --label group=patient
same "an image for each person" 3 score images.safetensors $new --split
works "4D images of the new people" predict images.safetensors -c study/test_participants.tsv -o expected
same "a 4D file of responses" 2 score images.safetensors -c study/test_participants.tsv -y expected/yhat.nii.gz
same "predicted images" 3 predict images.safetensors -c study/test_participants.tsv

# ---- what is refused -------------------------------------------------------------------------------

rm -rf out
begin() { tree >"$logs/before"; }
begin
ranks 2 "$KRONORM" score model.safetensors $all -o out --part 1/2
ends "parts" 2 "kronorm: --part 1/2 is for one process, and these are 2, who share the people: leave it out, or set KRONORM_COMM=none"
ranks 3 "$KRONORM" predict model.safetensors -c new.csv -o out --join 3
ends "joins" 2 "kronorm: --join 3 is for one process, and these are 3, who share the people: leave it out, or set KRONORM_COMM=none"
launched -n 1 "$KRONORM" score model.safetensors $all -o out : -n 2 "$KRONORM" score model.safetensors $all -o mine
ends "processes with outputs of their own" 2 "kronorm: rank 1 has another command line than rank 0 (kronorm score model.safetensors --covariates new.csv --missing drop --responses new_y.csv --unseen prior --output mine): give all of them the same, or set KRONORM_COMM=none"
cat >each.sh <<'END'
rank=${OMPI_COMM_WORLD_RANK:-$PMI_RANK}
KRONORM_COMM=none exec "$KRONORM" score model.safetensors -c new.csv -y new_y.csv --missing drop --unseen prior -o out -q --part $((rank + 1))/2
END
ranks 2 sh each.sh
check "KRONORM_COMM=none: so many processes, who may make a part each" [ $code -eq 0 -a "$(ls out/scores.part-?-of-2.safetensors | wc -l)" = 2 ]
rm -r out
kronorm score model.safetensors $all -o out --part 1/2
check "a part by one process is what it was" [ -f out/scores.part-1-of-2.safetensors ]
rm -rf out
begin
ranks 3 "$KRONORM" score nothing.safetensors $all -o out
ends "no model" 1 "kronorm: nothing.safetensors: cannot be opened: no such file or directory"
ranks 3 "$KRONORM" score model.safetensors -c new.csv -y new_y.csv --missing drop -o out -q
ends "a site that is not known" 1 "kronorm: new.csv: 1 person is of a site that training did not have (C): use 'kronorm adapt' with healthy people of it, or --unseen prior, which needs none but is wide"
mkdir out
echo mine >out/people.tsv
begin
ranks 3 "$KRONORM" score model.safetensors $all -o out -q
ends "a folder with results" 1 "kronorm: out/people.tsv: exists already (use --force to replace it)"
rm -r out

# ---- a rank that fails -----------------------------------------------------------------------------

# The image that is missing is of another rank each time: people have turns.
last=$(grep -c . study/test_images.txt)
for i in 2 $((last / 2)) "$last"; do
    gone=$(sed -n "${i}p" study/test_images.txt | cut -f 2)
    mv "study/$gone" elsewhere.nii.gz
    begin
    ranks 3 "$KRONORM" score images.safetensors $new -o out
    ends "image $i is missing" 1 "kronorm: study/test_images.txt line $i: study/$gone: cannot be opened: no such file or directory"
    mv elsewhere.nii.gz "study/$gone"
done
cut=$(sed -n "${last}p" study/test_images.txt | cut -f 2)
cp "study/$cut" whole.nii.gz
head -c 400 whole.nii.gz >"study/$cut"
begin
ranks 3 "$KRONORM" score images.safetensors $new -o out --split
check "the last rank's image is cut short: one sentence" [ $code -eq 1 -a "$(said | grep -c "^kronorm: study/test_images.txt line $last: study/$cut: ")" = 1 -a "$(said | wc -l)" = 1 ]
tree >"$logs/after"
check "... and nothing is left behind" diff "$logs/before" "$logs/after"
mv whole.nii.gz "study/$cut"
awk -F, 'BEGIN { OFS = FS } NR == 21 { $3 = "thick" } 1' new_y.csv >words.csv
begin
ranks 3 "$KRONORM" score model.safetensors -c new.csv -y words.csv --missing drop --unseen prior -o out -q
ends "a cell of the last rank that is no number" 1 \
    "$(env -u KRONORM_COMM "$KRONORM" score model.safetensors -c new.csv -y words.csv --missing drop --unseen prior -o out -q 2>&1)"

for rank in 0 1; do
    rm -rf left
    ranks 2 "$COMMAND_CHECK" memory $rank 40 score model=model.safetensors covariates=new.csv responses=new_y.csv missing=drop unseen=prior \
        label=group=patient
    check "memory that runs out on rank $rank, at any time: all fail alike" [ $code -eq 0 ]
    rm -rf left
    ranks 2 "$COMMAND_CHECK" memory $rank 40 predict model=model.safetensors covariates=new.csv missing=drop unseen=prior split=yes
    check "... of predictions too" [ $code -eq 0 ]
done
rm -rf left

# Scoring of many rounds, whose maps the first writes as text, which takes long: a rank is told to stop when all have begun.
cat >rank.sh <<'END'
echo $$ >"$1/pid.${OMPI_COMM_WORLD_RANK:-$PMI_RANK}"
exec "$KRONORM" score a.safetensors -c many.csv -y many.npy --format csv --write z,yhat,ys2_model,fdr,ys2 --threads 1 -o out
END
struck() { # rank, signal
    rm -f "$logs"/pid.*
    timeout -k 5 180 mpirun."$mpi" -n 2 sh rank.sh "$logs" >"$logs/out" 2>"$logs/err" </dev/null &
    job=$!
    while kill -0 $job 2>/dev/null && ! grep -q '^2000 samples' "$logs/err"; do sleep 0.02; done
    kill -"$2" "$(cat "$logs/pid.$1")"
    wait $job
    code=$?
    sed -i '/^kronorm score: warning/d' "$logs/err"
}
begin
for rank in 0 1; do
    struck $rank TERM
    ends "rank $rank told to stop: all do" 130 "kronorm: stopped on request"
done

# ---- memory ----------------------------------------------------------------------------------------

ranks 2 "$KRONORM" score a.safetensors -c many.csv -y many.npy --threads 1 -o out -v
check "where no --memory is given, it is a rank's part of what there is" \
    grep -q "this scoring needs .* in each of 2 processes of this node .*; a rank's part of half of this [a-z]*'s memory is " "$logs/err"
ranks 3 "$COMMAND_CHECK" need score model=a.safetensors covariates=many.csv responses=many.npy write=z,yhat,ys2_model,fdr,ys2
check "no rank holds more than its need says" [ $code -eq 0 ]
rm -rf left
ranks 3 "$COMMAND_CHECK" need score model=images.safetensors covariates=study/test_participants.tsv responses=study/test_images.txt
check "nor of images" [ $code -eq 0 ]
launched -n 1 "$KRONORM" score model.safetensors -c new.csv -y new_y.csv -o mixed : -n 1 "$KRONORM" fit -c new.csv -y new_y.csv -o mixed.safetensors
check "another command is no rank of this one" [ $code -eq 2 -a "$(said)" = "kronorm: rank 1 (node $(uname -n)) has command fit, rank 0 score: start the same one everywhere" ]
check "... and leaves nothing" [ ! -e mixed -a ! -e mixed.safetensors ]
done_testing
