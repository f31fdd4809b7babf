#!/bin/sh
# A fit that is killed goes on from its last step, to the model it would have made.
. "$(dirname "$0")/lib.sh"
awk 'function u() { x = (x * 16807) % 2147483647; return x / 2147483647 }
    BEGIN {
        x = 5
        print "participant_id,age,a,b,c,d,e,f"
        for (i = 1; i <= 250; i++) {
            age = 20 + 50 * u()
            printf "s%03d,%.3f", i, age
            for (j = 0; j < 6; j++) printf ",%.4f", sin(age / 9 + j) + 2 * (u() + u() - 1)
            print ""
        }
    }' >all.csv
make_tables
FIT="fit -c all.csv -y all.csv --use age -P 4 --restarts 20 --folds 3 --preset classic"
kronorm $FIT -o whole.safetensors -q

# Runs a fit in the background until its checkpoint has some bytes, and leaves its id in $run.
until_written() { # bytes, arguments ...
    least=$1
    shift
    "$KRONORM" "$@" >"$logs/out" 2>"$logs/err" </dev/null &
    run=$!
    while kill -0 $run 2>/dev/null &&
        [ "$(stat -c %s m.safetensors.resume 2>/dev/null || echo 0)" -lt "$least" ]; do
        sleep 0.01
    done
}

until_written 6000 $FIT -o m.safetensors --resume
check "a fit can be killed midway" kill -9 $run
wait $run 2>/dev/null
check "and leaves its steps" test -s m.safetensors.resume
check "but no model" test ! -e m.safetensors
check "the first run says that it begins" grep -qx \
    "m.safetensors.resume: not there, the fit starts from the beginning" "$logs/err"
# more than the first has left: it has read that, and said so
until_written $(($(stat -c %s m.safetensors.resume) + 12000)) $FIT -o m.safetensors --resume
check "the second goes on from there" grep -qx \
    "m.safetensors.resume: the fit goes on after [1-9][0-9]* steps" "$logs/err"
kill -STOP $run
refused "not two at once" "m.safetensors.resume: another run is writing it" \
    $FIT -o m.safetensors --resume
check "and can be killed again" kill -9 $run
wait $run 2>/dev/null

cp m.safetensors.resume kept.resume
printf 'torn' >>m.safetensors.resume
works "the third comes to its end" $FIT -o m.safetensors --resume
check "the model is the one of a fit that was not killed" cmp m.safetensors whole.safetensors
check "no checkpoint is left" test ! -e m.safetensors.resume

# killed between the log and the model
rm m.safetensors
cp kept.resume m.safetensors.resume
works "a log without its model is no obstacle" $FIT -o m.safetensors --resume -q
check "to the same model" cmp m.safetensors whole.safetensors
refused "a model that is there stays" \
    "m.safetensors: exists already (use --force to replace it)" $FIT -o m.safetensors --resume
rm m.safetensors
refused "a log of whatever else stays too" \
    "m.safetensors.log.json: exists already (use --force to replace it)" \
    $FIT -o m.safetensors --resume
rm m.safetensors.log.json

# Ctrl-C
until_written 6000 $FIT -o m.safetensors --resume
kill -INT $run
wait $run
code=$?
check "Ctrl-C ends with 130" test $code -eq 130
check "and leaves the steps too" test -s m.safetensors.resume
works "from which a fit goes on" $FIT -o m.safetensors --resume -q
check "to the same model again" cmp m.safetensors whole.safetensors
rm m.safetensors m.safetensors.log.json

# what does not belong together
cp kept.resume m.safetensors.resume
refused "other options" "m.safetensors.resume: was begun with other options (remove it to start again, or leave --resume out)" \
    $FIT --seed 7 -o m.safetensors --resume
sed '9s/,2[0-9]*\./,31./; 9s/,[0-9]*\./,33./' all.csv >changed.csv
refused "other covariates" "m.safetensors.resume: was begun with other covariates (remove it to start again, or leave --resume out)" \
    fit -c changed.csv -y all.csv --use age --targets a,b,c,d,e,f -P 4 --restarts 20 --folds 3 --preset classic \
    -o m.safetensors --resume
refused "other responses" "m.safetensors.resume: was begun with other responses (remove it to start again, or leave --resume out)" \
    $FIT --targets a,b,c -o m.safetensors --resume
threads=$(getconf _NPROCESSORS_ONLN)
refused "another number of threads" \
    "m.safetensors.resume: was begun with threads '$threads', this run has '$((threads + 1))' (remove it to start again, or leave --resume out)" \
    $FIT --threads $((threads + 1)) -o m.safetensors --resume
cp people.csv m.safetensors.resume
refused "another file of that name" \
    "m.safetensors.resume: is not what kronorm fit --resume writes" $FIT -o m.safetensors --resume
sed '1s/"format_version":2/"format_version":9/' kept.resume >m.safetensors.resume
refused "a format of the future" \
    "m.safetensors.resume: has a format that this program does not know" \
    $FIT -o m.safetensors --resume
cp all.csv n.safetensors.resume.csv
ln -s n.safetensors.resume.csv n.safetensors.resume
refused "an input in its place" "n.safetensors.resume: is an input of this run, and is not replaced" \
    fit -c n.safetensors.resume.csv -y all.csv --use age -o n.safetensors --resume
cp kept.resume m.safetensors.resume
works "without --resume a fit starts again" $FIT -o m.safetensors
check "and says what it could have done" grep -qx \
    "kronorm fit: warning: m.safetensors.resume: a fit was begun here, --resume goes on with it" \
    "$logs/err"
check "to the same model as ever" cmp m.safetensors whole.safetensors

for m in "--noise iso -P 2" "--method kronprod" "--method stgpr" "--preset paper -P 2"; do
    G="fit --use age,sex $m -c people.csv -y thickness.csv"
    kronorm $G -o plain.safetensors -q --force
    works "a fit with a checkpoint, $m" $G -o kept.safetensors --resume -q --force
    check "is the fit without" cmp plain.safetensors kept.safetensors
done
done_testing
