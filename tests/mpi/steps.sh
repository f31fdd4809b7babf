#!/bin/sh
# The search that ranks share: the first decides, by its numbers, its steps on disk and its clock; and all leave off
# together when one of them is asked to.
. "$(dirname "$0")/lib.sh"
export OPENBLAS_NUM_THREADS=1
notice="works, the others wait"
"$FIT_CHECK" data 250 2100 whole w
# Restarts enough that the search is far from its end when it is killed for the last time, also where nothing else runs.
fit="fit -c w.csv -y w.npy -P 4 --restarts 60 --folds 3 --preset classic --threads 1"
env -u KRONORM_COMM "$KRONORM" $fit -o whole.safetensors -q

# ---- numbers ------------------------------------------------------------------------------------

core() { "$KRONORM" info --build | sed -n 's/^core \([^ ]*\).*/\1/p'; }
if [ "$(OPENBLAS_CORETYPE=Nehalem core)" = Nehalem ] && [ "$(core)" != Nehalem ]; then
    launched -n 1 "$FIT_CHECK" unlike : -n 1 env OPENBLAS_CORETYPE=Nehalem "$FIT_CHECK" unlike
    check "unlike processors come to the numbers of the first" [ $code -eq 0 ]
else
    skip "unlike processors come to the numbers of the first" "this BLAS has no core Nehalem, or no other"
fi

# ---- steps that are kept ------------------------------------------------------------------------

cat >rank.sh <<'END'
echo $$ >"$1/pid.${OMPI_COMM_WORLD_RANK:-${PMI_RANK:-0}}"
shift
exec "$KRONORM" "$@"
END

# A fit of some ranks, or of a process alone, in the background until its steps have some bytes.
until_written() { # ranks, bytes, arguments ...
    number=$1 least=$2
    shift 2
    rm -f "$logs"/pid.*
    if [ "$number" = 1 ]; then
        env -u KRONORM_COMM sh rank.sh "$logs" "$@" >"$logs/out" 2>"$logs/err" </dev/null &
    else
        timeout -k 5 60 mpirun."$mpi" -n "$number" sh rank.sh "$logs" "$@" >"$logs/out" 2>"$logs/err" </dev/null &
    fi
    job=$!
    while kill -0 $job 2>/dev/null && [ "$(stat -c %s m.safetensors.resume 2>/dev/null || echo 0)" -lt "$least" ]; do
        sleep 0.02
    done
}
killed() { # ranks, bytes more than there are, the rank that is killed
    before=$(stat -c %s m.safetensors.resume 2>/dev/null || echo 0)
    until_written "$1" $((before + $2)) $fit --resume -o m.safetensors
    kill -KILL "$(cat "$logs/pid.$3")"
    wait $job 2>/dev/null
    check "$1 ranks, killed midway, leave steps and no model" [ -s m.safetensors.resume -a ! -e m.safetensors ]
}
ended() { # ranks: the fit goes on to its end
    if [ "$1" = 1 ]; then
        env -u KRONORM_COMM "$KRONORM" $fit --resume -o m.safetensors >"$logs/out" 2>"$logs/err"
    else
        ranks "$1" "$KRONORM" $fit --resume -o m.safetensors
    fi
    check "... $1 go on after their steps" grep -q 'm.safetensors.resume: the fit goes on after [1-9][0-9]* steps' "$logs/err"
    if grep -q "$notice" "$logs/err"; then
        not_ok "... to the bytes of a fit that was not killed" "the first worked alone"
    else
        check "... to the bytes of a fit that was not killed" cmp m.safetensors whole.safetensors
    fi
    check "... and no steps are left" [ ! -e m.safetensors.resume ]
    rm -f m.safetensors*
}
killed 3 20000 1
killed 1 20000 0
ended 2
killed 1 20000 0
ended 3
killed 2 20000 0
ended 1
ranks 2 "$KRONORM" $fit --resume -o m.safetensors -q
check "steps that are kept change nothing" cmp m.safetensors whole.safetensors
rm -f m.safetensors*

killed 2 20000 0
cp m.safetensors.resume "$logs/kept"
"$FIT_CHECK" data 250 2101 whole other
tree >"$logs/before"
ranks 3 "$KRONORM" $fit --resume -o m.safetensors --seed 5 -q
ends "other options are refused" 1 \
    "kronorm: m.safetensors.resume: was begun with other options (remove it to start again, or leave --resume out)"
ranks 3 "$KRONORM" fit -c other.csv -y other.npy -P 4 --restarts 60 --folds 3 --preset classic --threads 1 --resume -o m.safetensors -q
ends "... and other responses" 1 \
    "kronorm: m.safetensors.resume: was begun with other responses (remove it to start again, or leave --resume out)"

# ---- asked to stop --------------------------------------------------------------------------------

for rank in 0 1; do
    until_written 2 $(($(stat -c %s m.safetensors.resume) + 6000)) $fit --resume -o m.safetensors
    kill -TERM "$(cat "$logs/pid.$rank")"
    wait $job
    code=$?
    check "rank $rank asked to stop in the search: all do, and it is said once" \
        [ $code -eq 130 -a "$(said | grep -v warning)" = "kronorm: stopped on request" ]
    check "... with their steps, and no model" [ -s m.safetensors.resume -a ! -e m.safetensors ]
done
until_written 2 $(($(stat -c %s m.safetensors.resume) + 6000)) $fit --resume -o m.safetensors
for r in 0 1; do kill -INT "$(cat "$logs/pid.$r")" 2>/dev/null; done
wait $job
code=$?
check "all asked to stop: it is said once" [ $code -eq 130 -a "$(said | grep -v warning)" = "kronorm: stopped on request" ]
until_written 2 $(($(stat -c %s m.safetensors.resume) + 6000)) $fit --resume -o m.safetensors
pkill -INT -P $job
wait $job
said | grep -v warning >"$logs/said" # Open MPI does not wait for long before it kills
check "Ctrl-C of mpirun: all stop, and it is said once, if there was time" \
    [ ! -s "$logs/said" -o "$(cat "$logs/said")" = "kronorm: stopped on request" ]
check "... with their steps, and no model" [ -s m.safetensors.resume -a ! -e m.safetensors ]
ended 3

# ---- time -------------------------------------------------------------------------------------------

env -u KRONORM_COMM "$KRONORM" $fit --max-seconds 1000 -o whole.safetensors -q --force
ranks 3 "$KRONORM" $fit --max-seconds 1000 -o m.safetensors
check "time enough: the bytes of one process" cmp m.safetensors whole.safetensors
check "... and all work" [ "$(grep -c "$notice" "$logs/err")" = 0 ]
rm -f m.safetensors*
ranks 3 "$KRONORM" $fit --max-seconds 0.01 -o m.safetensors
check "too little ends the search of all at the same step" [ $code -eq 0 ]
check "... as the model says" sh -c '"$KRONORM" info m.safetensors --json | grep -q "max_seconds"'
done_testing
