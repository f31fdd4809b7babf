#!/bin/sh
# score and predict in parts, as a job array does them: joined, they are the files of one run, to the byte.
. "$(dirname "$0")/lib.sh"
make_tables
head -n 31 people.csv >old_people.csv
head -n 31 thickness.csv >old_thickness.csv
# new participants and old ones; two without an age, one far from training, one of another site; cells and a participant missing
awk -F, 'BEGIN { OFS = "," } NR == 1 { print $0, "group"; next } NR > 21 {
    if (NR == 25 || NR == 38) $2 = ""
    if (NR == 36) $2 = 150
    if (NR == 40) $4 = "C"
    print $0, NR % 3 ? "control" : "patient" }' people.csv >new.csv
awk -F, 'BEGIN { OFS = "," } NR > 21 && NR % 5 == 0 { $3 = "" } NR == 37 { $2 = $3 = $4 = $5 = "" }
    NR == 34 { $2 = $3 = $4 = $5 = 0 } NR == 1 || NR > 21' thickness.csv >new_y.csv
works "fit" fit -c old_people.csv -y old_thickness.csv --use age,sex,site -o model.safetensors

# One run into one/out, n parts and their join into parts/out, so that the lines that are remembered are the same.
one_run() { # arguments of kronorm without -o
    rm -rf one parts
    mkdir one parts
    (cd one && "$KRONORM" "$@" -o out -q >"$logs/out" 2>"$logs/one")
}
in_parts() { # n, arguments: the last part first
    n=$1
    shift
    rm -rf parts/out
    for i in $(seq "$n" -1 1); do
        (cd parts && "$KRONORM" "$@" -o out -q --part "$i/$n" >"$logs/out" 2>"$logs/err") || return 1
    done
    (cd parts && "$KRONORM" "$@" -o out -q --join "$n" >"$logs/out" 2>"$logs/err")
}
same() { # all files of both, but for the seconds
    (cd one/out && find . -type f | sort) >"$logs/files" && (cd parts/out && find . -type f | sort) | cmp - "$logs/files" &&
        while read -r f; do
            case $f in
            */summary.json)
                grep -v '"\(score\|predict\)": [0-9]' "one/out/$f" >"$logs/a"
                grep -v '"\(score\|predict\)": [0-9]' "parts/out/$f" >"$logs/b"
                cmp "$logs/a" "$logs/b" || return 1 ;;
            *) cmp "one/out/$f" "parts/out/$f" || return 1 ;;
            esac
        done <"$logs/files"
}
equal() { # promise, numbers of parts, arguments
    promise=$1 counts=$2
    shift 2
    if ! one_run "$@"; then
        not_ok "$promise" "one run: $(cat "$logs/one")"
        return
    fi
    for n in $counts; do
        check "$promise, $n parts" in_parts "$n" "$@"
        check "... joined are the files of one run" same
        check "... and the same is said" cmp "$logs/one" "$logs/err"
    done
}

# ---- tables
all="-c ../new.csv -y ../new_y.csv --missing drop --unseen prior"
equal "a table" "1 2 3 7 25" score ../model.safetensors $all
check "... of whom two are dropped" test "$(grep -c dropped parts/out/scored_participants.tsv)" -eq 2
equal "all maps, and people with a label" "3" score ../model.safetensors $all --cases group=patient --write z,yhat,ys2_model,fdr,ys2
check "... of which the AUC is told" grep -q '"extreme_z": {' parts/out/summary.json
equal "probabilities by people of the list" "2 7" score ../model.safetensors $all --reference group=control
equal "a file for each person" "3 25" score ../model.safetensors $all --split --write z,fdr
equal "an array" "2" score ../model.safetensors $all --format npy --training-rows plain --threshold 1.5
equal "predictions" "1 3 25" predict ../model.safetensors -c ../new.csv --missing drop --unseen prior
equal "predictions with the noise of each person" "3" predict ../model.safetensors -c ../new.csv --missing drop --unseen prior --write yhat,ys2
equal "predictions, a file for each person" "2" predict ../model.safetensors -c ../new.csv --missing drop --unseen prior --split

# ---- participants of groups of training, and parts without participants
make_visits
awk -F, -v OFS=, 'NR == 1 || NR % 5 == 2 { if (NR > 20) { $1 = "n" NR; $8 = "new" } $10 += NR > 1 ? 0.02 : ""; print }' visits.csv >further.csv
sed -i '1s/.*/participant_id,age,sex,code,site,scanner,tesla,family,row,a,b,c,d/' further.csv
for group in auto family; do
    works "fit of groups by $group" fit -c visits.csv -y visits.csv --targets a,b,c,d --use age,sex --group $group -o groups_$group.safetensors
    equal "known groups by $group" "2 15" score ../groups_$group.safetensors -c ../further.csv -y ../further.csv --known-groups --write z,ys2_model,ys2
    equal "... predicted" "15" predict ../groups_$group.safetensors -c ../further.csv --known-groups
done

# ---- images
make_images
works "fit of images" fit -c study/train_participants.tsv -y study/train_images.txt -m study/mask.nii.gz -P 4 -o images.safetensors
test=$(pwd)/study/test_images.txt
equal "a 4D image" "2 5" score ../images.safetensors -c ../study/test_participants.tsv -y "$test" --cases group=patient
equal "an image for each person" "3" score ../images.safetensors -c ../study/test_participants.tsv -y "$test" --split
equal "training people" "3" score ../images.safetensors -c ../study/train_participants.tsv -y "$(pwd)/study/train_images.txt"

# ---- kernels of the BLAS for other processors, those that this one can run: who else is in a batch is not to be seen
for kernels in Nehalem:sse4_2 Haswell:avx2 SkylakeX:avx512f; do
    grep -qw "${kernels#*:}" /proc/cpuinfo || continue
    export OPENBLAS_CORETYPE="${kernels%:*}"
    equal "kernels of $OPENBLAS_CORETYPE" "5 25" score ../images.safetensors -c ../study/train_participants.tsv \
        -y "$(pwd)/study/train_images.txt" --training-rows plain --write z,yhat,ys2_model,ys2
done
unset OPENBLAS_CORETYPE

# ---- responses of all participants in one file
works "4D images of the new people" predict images.safetensors -c study/test_participants.tsv -o expected
equal "a 4D file of responses" "3" score ../images.safetensors -c ../study/test_participants.tsv -y ../expected/yhat.nii.gz
set -- score images.safetensors -c study/test_participants.tsv -o in_one
works "a part of it" "$@" -y expected/yhat.nii.gz --part 1/1
refused "... is of no other file" "in_one/scores.part-1-of-1.safetensors was made from other responses; make it again with --part 1/1 and --force, or give the join the options of this part" "$@" \
    -y expected/ys2_model.nii.gz --join 1

# ---- what is said of a part
set -- score model.safetensors -c new.csv -y new_y.csv --missing drop --unseen prior -o out
kronorm "$@" --part 2/3
check "a part says what it is and what comes next" sh -c "grep -qxF 'out: part 2/3, 6 of 18 participants, 2 files' '$logs/out' &&
    grep -qF 'run the same command with --join 3' '$logs/out'"
check "... and leaves only its own files" test "$(ls out | tr '\n' ' ')" = "scores.part-2-of-3.safetensors z.part-2-of-3.npy "
kronorm "$@" --part 20/20
check "one that has nobody says so" grep -qF 'part 20 of 20 has no participants; there are only 18' "$logs/err"
rm out/scores.part-20-of-20.safetensors

# ---- what is refused
refused "parts that are missing" "out: these of the 3 parts are missing: 1, 3; run --part 1/3 next" "$@" --join 3
refused "no part at all" "out contains none of the 4 parts to join; run --part 1/4 first" "$@" --join 4
refused "a part that is there" "out/z.part-2-of-3.npy already exists; use --force to replace it" "$@" --part 2/3
misused "part 4 of 3" ": --part is '4/3', but must be I/N with I from 1 to N and N up to 100000, such as 3/10" "$@" --part 4/3
for wrong in 0/3 3 3/ /3 -1/3 1/3/5 1.5/3 1/100001 a/b 99999999999999999999/3; do
    misused "--part $wrong" ": --part is '$wrong', but must be I/N with I from 1 to N and N up to 100000, such as 3/10" "$@" --part "$wrong"
done
misused "both at once" ": --part 1/3 and --join 3 cannot be combined; run each part first, then the join" "$@" --part 1/3 --join 3
misused "a join of too many" " score: --join is 100001; it must be 1 to 100000 (see 'kronorm score --help')" "$@" --join 100001
for i in 1 2 3; do # s39 is of site C, and of one part
    refused "a site that is not known, by part $i too" "new.csv: 1 participant is from a site that is not in the training data (C); use 'kronorm adapt' with at least 5 healthy controls from there, or --unseen prior, which needs no controls but is less sensitive" \
        score model.safetensors -c new.csv -y new_y.csv --missing drop -o out --part $i/3 --force
done
sed '1!s/,control$/,patient/' new.csv >patients.csv
refused "a list in which everybody is labelled, by a part too" "every row has group=patient, so there are no other participants to compare with" \
    score model.safetensors -c patients.csv -y new_y.csv --missing drop --unseen prior -o out --part 1/3 --cases group=patient --force
works "part 1" "$@" --part 1/3
works "part 3" "$@" --part 3/3
kronorm "$@" --join 3 --memory 100k -q
check "a join without room is refused" sh -c "test $code -eq 1 && grep -qx 'kronorm: this join needs [0-9.]* kB, but --memory allows 100.0 kB' '$logs/err'"
works "another model" fit -c old_people.csv -y old_thickness.csv --use age,sex,site --folds 5 -o other.safetensors
refused "parts with another model" "out/scores.part-1-of-3.safetensors was made with another model; make it again with --part 1/3 and --force, or give the join the options of this part" score other.safetensors -c new.csv -y new_y.csv --missing drop --unseen prior -o out --join 3
refused "parts with other options" "out/scores.part-1-of-3.safetensors was made with other options; make it again with --part 1/3 and --force, or give the join the options of this part" "$@" --join 3 --threshold 3
refused "parts with a label" "out/scores.part-1-of-3.safetensors was made with other options; make it again with --part 1/3 and --force, or give the join the options of this part" "$@" --join 3 --cases group=patient
sed 's/^s30,\([0-9]*\),/s30,99,/' new.csv >aged.csv
refused "parts of other covariates" "out/scores.part-1-of-3.safetensors was made for other participants or covariates; make it again with --part 1/3 and --force, or give the join the options of this part" score model.safetensors -c aged.csv -y new_y.csv \
    --missing drop --unseen prior -o out --join 3
sed '1s/group/arm/' new.csv >renamed.csv
refused "parts of other columns" "out/scores.part-1-of-3.safetensors was made for other participants or covariates; make it again with --part 1/3 and --force, or give the join the options of this part" score model.safetensors -c renamed.csv -y new_y.csv \
    --missing drop --unseen prior -o out --join 3
sed 's/^s30,.*/s30,3,3,3,3/' new_y.csv >moved.csv
refused "parts from other responses" "out/scores.part-1-of-3.safetensors was made from other responses; make it again with --part 1/3 and --force, or give the join the options of this part" score model.safetensors -c new.csv -y moved.csv \
    --missing drop --unseen prior -o out --join 3
cp -r out whole
cp out/scores.part-2-of-3.safetensors out/scores.part-1-of-3.safetensors
refused "a part twice" "out/scores.part-1-of-3.safetensors contains part 2 of 3, but its name says otherwise; make the part again" "$@" --join 3
cp whole/scores.part-1-of-3.safetensors out
cp out/z.part-2-of-3.npy out/z.part-1-of-3.npy
refused "maps of another part" "out/z.part-1-of-3.npy is damaged, or from another run than its part" "$@" --join 3
head -c 200 whole/z.part-3-of-3.npy >out/z.part-1-of-3.npy
check "maps cut short are refused" sh -c "! '$KRONORM' $* --join 3 -q"
"$KRONORM" score model.safetensors -c new.csv -y new_y.csv --missing drop --unseen prior -o wide -q --part 1/2
cp wide/z.part-1-of-2.npy out/z.part-1-of-3.npy
refused "maps of more people" "out/z.part-1-of-3.npy is not a map of this part, because it is not an array of 6 x 4 float32 numbers" "$@" --join 3
cp whole/z.part-1-of-3.npy out
size=$(wc -c <out/scores.part-2-of-3.safetensors)
patch out/scores.part-2-of-3.safetensors $((size - 100)) '\377\377'
kronorm "$@" --join 3
check "a damaged part is refused by its checksum" sh -c "test $code -eq 1 && grep -q '^kronorm: out/scores.part-2-of-3.safetensors: .*checksum' '$logs/err'"
check "... and nothing has come into being" test "$(ls out | grep -vc "\.part")" -eq 0
works "it is run again alone" "$@" --part 2/3 --force
works "and joined" "$@" --join 3
check "... after which no part is left" test "$(ls out | grep -c "\.part")" -eq 0
refused "a part of what is there already" "out/z.csv already exists; use --force to replace it" "$@" --part 1/3

# ---- a part that fails leaves nothing, and is run again alone
set -- score images.safetensors -c study/test_participants.tsv -y study/test_images.txt -o array --split
image=$(sed -n 's/^[^\t]*\t//; 2p' study/test_images.txt)
[ -f "$image" ] || image=study/$image
cp "$image" kept && head -c $(($(wc -c <kept) - 100)) kept >"$image"
works "a part without the damaged image" "$@" --part 1/3
ls array >"$logs/before"
kronorm "$@" --part 2/3
check "one with it fails" test $code -eq 1
check "... and leaves nothing" sh -c "ls array | cmp - '$logs/before'"
works "the others do not mind" "$@" --part 3/3
cp kept "$image"
works "when it is mended, that part alone is run again" "$@" --part 2/3
gone=$(ls array/*_z.nii.gz | head -n 1)
mv "$gone" gone
refused "a person's map that is gone" "$gone is missing, although its part is complete" "$@" --join 3
mv gone "$gone"
works "then joined" "$@" --join 3

# ---- a folder is of all parts: one that fails does not take it from those that are about to write
sed 's/^s22,/s\/22,/' new.csv >slash.csv
sed 's/^s22,/s\/22,/' new_y.csv >slash_y.csv
kronorm score model.safetensors -c slash.csv -y slash_y.csv --missing drop --unseen prior --split -o common --part 2/3
check "a part that fails late" grep -qx "kronorm: ID 's/22' cannot be a file name, because it contains a slash" "$logs/err"
check "... leaves the folder, and nothing in it" test -z "$(ls -A common 2>&1)"

# ---- the script for Slurm: sbatch runs every line of it, the tasks backwards
mkdir bin
ln -s "$KRONORM" bin/kronorm
cat >bin/sbatch <<'S'
#!/bin/sh
# As much of sbatch as the script uses: one job after the other, at once.
array='' after=
while :; do
    case $1 in
    --parsable) ;;
    --array=*) array=${1#--array=} ;;
    --dependency=afterok:*) after=${1#*:} ;;
    --kill-on-invalid-dep=yes) ;;
    *) break ;;
    esac
    shift
done
job=$(($(cat jobs 2>/dev/null || echo 100) + 1))
echo $job >jobs
{ [ -z "$after" ] || [ "$(cat "ended-$after")" = 0 ]; } || exit 1
case $array in
*-*) tasks=$(seq "${array#*-}" -1 "${array%-*}") ;;
*) tasks=$(echo "$array" | tr , ' ') ;;
esac
failed=0
for task in ${tasks:-none}; do
    if [ "$task" = none ]; then unset SLURM_ARRAY_TASK_ID; else export SLURM_ARRAY_TASK_ID="$task"; fi
    SLURM_CPUS_PER_TASK=1 bash "$@" >>slurm.log 2>&1 || failed=1
done
echo $failed >"ended-$job"
echo $job
S
chmod +x bin/sbatch
script=$here/../../examples/score_array.sbatch
MODEL=images.safetensors PEOPLE=study/test_participants.tsv IMAGES=study/test_images.txt PARTS=4 MORE="--cases group=patient"
export MODEL PEOPLE IMAGES PARTS MORE
check "the script for Slurm" env PATH="$(pwd)/bin:$PATH" OUT=slurm bash "$script"
works "... does what one run does" score $MODEL -c $PEOPLE -y $IMAGES -o once --threads 1 $MORE
check "... to the byte" sh -c 'for f in once/*; do case $f in */summary.json) ;; *) cmp "$f" "slurm/${f#once/}" || exit 1 ;; esac; done'
check "... with as many files" test "$(ls slurm | wc -l)" -eq "$(ls once | wc -l)"
check "a task that failed is handed in again alone" env PATH="$(pwd)/bin:$PATH" OUT=again sh -c "
    sbatch --array=1,2,4 '$script' && ! sbatch --dependency=afterok:99 '$script' join 2>/dev/null
    sbatch --array=3 '$script' && sbatch '$script' join && cmp again/abnormality.tsv once/abnormality.tsv"
done_testing
