# What the tests of several processes share, under mpirun (tests/mpi) and srun (tests/slurm): tests/cli/lib.sh, and how all of them end.
. "$(dirname "$0")/../cli/lib.sh"
unset MAKEFLAGS DESTDIR
# The programs share few processors, and the BLAS has none to wait on.
export OPENBLAS_THREAD_TIMEOUT=4

# What the command said, without what mpirun or srun says of it.
said() { grep -a '^kronorm' "$logs/err"; }

# From here on: what is left behind, which must be nothing.
begin() { tree >"$logs/before"; }
nothing() { tree >"$logs/after" && diff "$logs/before" "$logs/after"; }

ends() { # promise, exit code, the sentence: all that was said, once; $logs has it, nothing is left behind
    tree >"$logs/after"
    if [ $code -ne "$2" ]; then
        not_ok "$1" "expected exit code $2"
    elif [ "$(said)" != "$3" ]; then
        not_ok "$1" "expected $3"
    elif ! cmp -s "$logs/before" "$logs/after"; then
        not_ok "$1" "something was left behind: $(diff "$logs/before" "$logs/after")"
    else
        ok "$1"
    fi
}

# long.csv, all in one: a fit of a minute and more, which is stopped.
make_long() {
    awk 'function u() { x = (x * 16807) % 2147483647; return x / 2147483647 }
        BEGIN {
            x = 5
            printf "participant_id,age"
            for (j = 0; j < 1000; j++) printf ",r%d", j
            print ""
            for (i = 0; i < 900; i++) {
                printf "s%d,%d", i, 20 + 60 * u()
                for (j = 0; j < 1000; j++) printf ",%.3f", u()
                print ""
            }
        }' >long.csv
}

# Whether neither process of $logs/pid.0 and pid.1 is there any more, in a while; else $alive is one of them.
gone() {
    for i in $(seq 50); do
        alive=
        for r in 0 1; do kill -0 "$(cat "$logs/pid.$r")" 2>/dev/null && alive=$r; done
        [ -n "$alive" ] || return 0
        sleep 0.2
    done
    return 1
}
