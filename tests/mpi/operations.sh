#!/bin/sh
# What processes say to each other, under mpirun.
. "$(dirname "$0")/lib.sh"

goes() { # promise
    if [ $code -eq 0 ]; then ok "$1"; else not_ok "$1" ""; fi
}

for n in 1 2 3 4; do
    ranks $n "$COMM_CHECK" all
    goes "$n ranks: every operation has the obvious answer, every failure is everybody's, none hangs"
done
ranks 3 "$COMM_CHECK" sleep
goes "ranks that wait for the first take no processor"

for rank in 0 2; do
    ranks 3 "$COMM_CHECK" stop $rank 7
    check "rank $rank stops all" [ $code -eq 7 ]
done

available=$(awk '/MemAvailable/ { print int($2 / 1e6) }' /proc/meminfo)
if [ "${available:-0}" -ge 6 ]; then
    ranks 2 "$COMM_CHECK" large
    goes "one more than 2^26 numbers"
else
    skip "one more than 2^26 numbers" "6 GB of memory are needed, there are ${available:-?}"
fi

# ---- what a rank may use ----------------------------------------------------------------------

part() { # of processors among $1 ranks
    echo $(($(nproc) / $1 > 1 ? $(nproc) / $1 : 1))
}
ranks 1 "$COMM_CHECK" resources
whole=$(cut -d' ' -f4 "$logs/out")
check "one rank has all processors" grep -qx "threads $(nproc) memory $whole" "$logs/out"
for n in 2 3; do
    ranks $n "$COMM_CHECK" resources
    check "$n ranks share processors and memory of their node" \
        [ "$(uniq -c "$logs/out" | tr -s ' ')" = " $n threads $(part $n) memory $((whole / n))" ]
done
first=$(taskset -cp $$ | sed 's/.*: //; s/[-,].*//')
timeout -k 5 60 taskset -c "$first" mpirun."$mpi" -n 2 "$COMM_CHECK" resources >"$logs/out" 2>"$logs/err"
code=$?
check "... those they may run on" \
    [ "$(uniq -c "$logs/out" | tr -s ' ')" = " 2 threads 1 memory $((whole / 2))" ]
done_testing
