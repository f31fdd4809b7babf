#!/bin/sh
# The search for the hyperparameters over MPI ranks: all ranks use the numbers and the clock of rank 0, and all stop together
# when one of them is asked to.
. "$(dirname "$0")/lib.sh"
export OPENBLAS_NUM_THREADS=1
notice="works and the others wait"
"$FIT_CHECK" data 250 2100 whole w
fit="fit -c w.csv -y w.npy -P 4 --sample-kernel linear+se --folds 3 --threads 1"

# ---- numbers ------------------------------------------------------------------------------------

core() { "$KRONORM" info --build | sed -n 's/^core \([^ ]*\).*/\1/p'; }
if [ "$(OPENBLAS_CORETYPE=Nehalem core)" = Nehalem ] && [ "$(core)" != Nehalem ]; then
    launched -n 1 "$FIT_CHECK" unlike : -n 1 env OPENBLAS_CORETYPE=Nehalem "$FIT_CHECK" unlike
    check "unlike processors come to the numbers of the first" [ $code -eq 0 ]
else
    skip "unlike processors come to the numbers of the first" "this BLAS has no core Nehalem, or no other"
fi

# ---- a request to stop --------------------------------------------------------------------------

cat >rank.sh <<'END'
echo $$ >"$1/pid.${OMPI_COMM_WORLD_RANK:-${PMI_RANK:-0}}"
shift
exec "$KRONORM" "$@"
END
tree >"$logs/before"
# So many restarts that the search is far from its end when the signal arrives.
in_search() { # starts a fit of two ranks and returns while it searches
    rm -f "$logs"/pid.*
    timeout -k 5 60 mpirun."$mpi" -n 2 sh rank.sh "$logs" $fit --restarts 2000 -o m.safetensors >"$logs/out" 2>"$logs/err" </dev/null &
    job=$!
    for i in $(seq 150); do grep -q ' samples, ' "$logs/err" && break || sleep 0.2; done
    sleep 1
}
stopped() { # what was done
    wait $job
    code=$?
    tree >"$logs/after"
    check "$1: all ranks stop, and one sentence says so" \
        [ $code -eq 130 -a "$(said | grep -v warning)" = "kronorm: stopped on request" ]
    check "... and no file is left" cmp "$logs/before" "$logs/after"
}
for rank in 0 1; do
    in_search
    kill -TERM "$(cat "$logs/pid.$rank")"
    stopped "SIGTERM to rank $rank"
done
in_search
for r in 0 1; do kill -INT "$(cat "$logs/pid.$r")" 2>/dev/null; done
stopped "SIGINT to all ranks"
in_search
pkill -INT -P $job
wait $job
said | grep -v warning >"$logs/said" # Open MPI kills its ranks soon after
tree >"$logs/after"
check "Ctrl-C of mpirun: at most one sentence" \
    [ ! -s "$logs/said" -o "$(cat "$logs/said")" = "kronorm: stopped on request" ]
check "... and no file is left" cmp "$logs/before" "$logs/after"

# ---- time -------------------------------------------------------------------------------------------

env -u KRONORM_COMM "$KRONORM" $fit --max-seconds 1000 -o whole.safetensors -q
ranks 3 "$KRONORM" $fit --max-seconds 1000 -o m.safetensors
check "time enough: the bytes of one process" cmp m.safetensors whole.safetensors
check "... and all work" [ "$(grep -c "$notice" "$logs/err")" = 0 ]
rm -f m.safetensors*
ranks 3 "$KRONORM" $fit --max-seconds 0.01 -o m.safetensors
check "too little ends the search of all at the same step" [ $code -eq 0 ]
check "... as the model says" sh -c '"$KRONORM" info m.safetensors --json | grep -q "max_seconds"'
done_testing
