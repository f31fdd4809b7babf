#!/bin/sh
# Whatever goes wrong under mpirun: one sentence, an exit code, nothing left behind, and no hang.
. "$(dirname "$0")/lib.sh"
make_tables
fit="-c people.csv -y thickness.csv --use age -o m.safetensors"
plugin=$KRONORM_COMM

begin
ranks 3 "$KRONORM" fit -c nobody.csv -y thickness.csv -o m.safetensors
ends "a file that is not there" 1 "kronorm: nobody.csv cannot be opened: no such file or directory"
ranks 3 "$KRONORM" fit -c people.csv -o m.safetensors
ends "an option that is not there" 2 "kronorm fit: option -y (--responses) is required (see 'kronorm fit --help')"
ranks 2 "$KRONORM" fit $fit --noise iso --method kronprod --calibrate none --jobs 3
ends "nor one that nobody knows" 2 "kronorm fit: unknown option --jobs (see 'kronorm fit --help')"
ranks 2 "$KRONORM" cv -c people.csv -y nothing.csv -o held
ends "cv" 1 "kronorm: nothing.csv cannot be opened: no such file or directory"

# ---- processes that do not go together ----------------------------------------------------------

node=$(uname -n)
launched -n 1 "$KRONORM" fit $fit --threads 1 : -n 2 "$KRONORM" fit $fit --threads 2
ends "other threads" 2 "kronorm: rank 1 (node $node) has threads 2, but rank 0 has 1; give all of them the same --threads"
other="--covariates people.csv --use age --responses thickness.csv"
launched -n 1 "$KRONORM" fit $fit : -n 2 "$KRONORM" fit $fit --method kronprod
ends "a method that is the first's alone, for some of them" 2 "kronorm: rank 1 has a different command line from rank 0 (kronorm fit $other --method kronprod --output m.safetensors); start the same one everywhere, or set KRONORM_COMM=none"
launched -n 1 "$KRONORM" fit $fit --method kronprod : -n 1 "$KRONORM" fit $fit
ends "... and for the first of them" 2 "kronorm: rank 1 has a different command line from rank 0 (kronorm fit $other --output m.safetensors); start the same one everywhere, or set KRONORM_COMM=none"
launched -n 1 "$KRONORM" fit $fit : -n 1 "$KRONORM" cv -c people.csv -y thickness.csv --use age -o held
ends "another command" 2 "kronorm: rank 1 (node $node) has command cv, but rank 0 has fit; start the same one everywhere"
one="uses only one; start it once, or set KRONORM_COMM=none if each process has its own input and output"
ranks 3 "$KRONORM" info m.safetensors
ends "a command that is not shared out" 2 "kronorm: mpirun or srun started 3 processes, but info uses only one; start it once, or set KRONORM_COMM=none if each process has its own input and output"
launched -n 1 "$KRONORM" fit $fit : -n 1 "$KRONORM" info m.safetensors
ends "... for one of them" 2 "kronorm: rank 1 (node $node): mpirun or srun started 2 processes, but info $one"
launched -n 1 "$KRONORM" info m.safetensors : -n 1 "$KRONORM" fit $fit
ends "... for the first of them" 2 "kronorm: mpirun or srun started 2 processes, but info $one"
launched -n 1 "$KRONORM" fit $fit : -n 1 "$KRONORM" fit $fit --jobs 3
ends "an option that nobody knows, for one of them" 2 \
    "kronorm: rank 1 (node $node): unknown option --jobs (see 'kronorm fit --help')"
launched -n 1 "$KRONORM" fit $fit --jobs 3 : -n 1 "$KRONORM" fit $fit
ends "... for the first of them" 2 "kronorm fit: unknown option --jobs (see 'kronorm fit --help')"
cat >"$logs/alarm.c" <<'END'
#include <sys/time.h>
unsigned alarm(unsigned seconds) /* 2 or 4 s are 300 or more */
{
    struct itimerval after = {.it_value.tv_sec = seconds > 300 ? 4 : seconds > 0 ? 2 : 0};
    return (unsigned)setitimer(ITIMER_REAL, &after, 0);
}
END
${CC:-cc} -shared -fPIC "$logs/alarm.c" -o "$logs/alarm.so"
for rank in 1 0; do
    case $rank in
    1) launched -n 1 env LD_PRELOAD="$logs/alarm.so" "$KRONORM" fit $fit : -n 1 true ;;
    0) launched -n 1 true : -n 1 env LD_PRELOAD="$logs/alarm.so" "$KRONORM" fit $fit ;;
    esac
    ends "rank $rank is another program: the others do not wait for ever" 2 \
        "kronorm: mpirun or srun started 2 processes, but some of them have not started after 300 s; start the same command everywhere, or set KRONORM_COMM=none"
done
if [ "$thorough" ]; then # files of one name that are others on each node
mkdir here there
cp regions.csv here
"$FIT_CHECK" data 40 2100 whole here/all
"$FIT_CHECK" data 40 2000 whole there/all
"$KRONORM" fit -c regions.csv -y regions.csv --use age --targets '[lr]h_*' -o here/model.safetensors -q 2>"$logs/err"
rm here/*.log.json
make_images
cp study/mask.nii.gz here
gzip -dc study/mask.nii.gz >"$logs/mask"
dd if=/dev/zero of="$logs/mask" bs=1 seek=$(($(wc -c <"$logs/mask") / 2)) count=2000 conv=notrunc 2>/dev/null
gzip -c "$logs/mask" >there/mask.nii.gz
cat >node.sh <<'END'
case ${OMPI_COMM_WORLD_RANK:-$PMI_RANK} in 0) cd here ;; *) cd there ;; esac
exec "$KRONORM" "$@"
END
begin
ranks 3 sh node.sh fit -c all.csv -y all.npy -o m.safetensors
ends "an array of another shape" 1 "kronorm: rank 1 (node $node) has responses of 40 x 2000 numbers of float32, but rank 0 has 40 x 2100 numbers of float32; give all ranks the same files"
ranks 2 sh node.sh fit -c ../study/train_participants.tsv -y ../study/train_images.txt -m mask.nii.gz -o m.safetensors -q
sed 's/ [0-9]* voxels ([0-9a-f]\{8\})/ .../g' "$logs/err" >"$logs/told" && mv "$logs/told" "$logs/err"
ends "another mask" 1 "kronorm: rank 1 (node $node) has a mask of ..., but rank 0 has ...; give all ranks the same file"
ranks 2 sh node.sh fit -c regions.csv -y regions.csv --use age --targets '[lr]h_*' -o again.safetensors -q
check "a table is the first's alone, also one for both" cmp here/again.safetensors here/model.safetensors
rm -r here there
begin
fi
core() { "$KRONORM" info --build | sed -n 's/^core \([^ ]*\).*/\1/p'; }
mine=$(core)
if [ "$(OPENBLAS_CORETYPE=Nehalem core)" = Nehalem ] && [ "$mine" != Nehalem ]; then
    launched -n 2 "$KRONORM" fit $fit : -n 1 env OPENBLAS_CORETYPE=Nehalem "$KRONORM" fit $fit
    ends "another core" 2 "kronorm: rank 2 (node $node) has core Nehalem, but rank 0 has $mine; set OPENBLAS_CORETYPE to one of them"
else
    skip "another core" "this BLAS has no core Nehalem, or no other"
fi

# ---- plugins that are none ------------------------------------------------------------------------

none="; start it once, with --threads, or set KRONORM_COMM=none if each process has its own output"
mkdir bin
cp "$KRONORM" bin
begin
unset KRONORM_COMM
ranks 3 bin/kronorm fit $fit
ends "no plugin" 2 "kronorm: mpirun or srun started 3 processes, but this build has no MPI$none"
launched -n 1 env KRONORM_COMM="$plugin" "$KRONORM" fit $fit : -n 1 bin/kronorm fit $fit
ends "none for one of them" 2 \
    "kronorm: rank 1 (node $node): mpirun or srun started 2 processes, but this build has no MPI$none"
if [ "$thorough" ]; then
export KRONORM_COMM=./libkronorm_mpi.so
ranks 2 "$KRONORM" fit $fit
ends "one in the working folder" 2 \
    "kronorm: KRONORM_COMM is './libkronorm_mpi.so', but must be none, the name of a plugin or an absolute path"
export KRONORM_COMM=libmine.so
ranks 2 "$KRONORM" fit $fit
ends "one that is not there" 2 "kronorm: libmine.so was found neither beside this program nor in its ../lib/kronorm"
export KRONORM_COMM="$work/people.csv"
ranks 2 "$KRONORM" fit $fit
ends "a table" 2 "kronorm: the plugin cannot be loaded: $work/people.csv: invalid ELF header"
cat >none.c <<'END'
int nothing;
END
cat >old.c <<'END'
struct { int abi; unsigned long bytes; void *begin; } kronorm_comm_plugin = {99, 8, 0};
END
for name in none old; do ${CC:-cc} -shared -fPIC $name.c -o lib$name.so; done
begin
export KRONORM_COMM="$work/libnone.so"
ranks 2 "$KRONORM" fit $fit
ends "another library" 2 "kronorm: $work/libnone.so is not a plugin of kronorm"
export KRONORM_COMM="$work/libold.so"
ranks 2 "$KRONORM" fit $fit
ends "one of another version" 2 \
    "kronorm: $work/libold.so was built for another version of kronorm (interface 99 instead of 2); rebuild it with make mpi"
fi
case $mpi in openmpi) other=mpich ;; *) other=openmpi ;; esac
if command -v mpicc.$other >/dev/null; then
    make -s -C "$SOURCE" mpi MPICC=mpicc.$other BUILD="$logs/other"
    export KRONORM_COMM="$logs/other/libkronorm_mpi.so"
    ranks 2 "$KRONORM" fit $fit
    ends "one of another MPI" 2 \
        "kronorm: mpirun or srun started 2 processes, but $KRONORM_COMM sees 1, because it was built with another MPI; build it with theirs (make mpi MPICC=...)"
else
    skip "one of another MPI" "there is no mpicc.$other"
fi
export KRONORM_COMM="$plugin"

# ---- ranks that are ended -------------------------------------------------------------------------

make_long
cat >rank.sh <<'END'
echo $$ >"$1/pid.${OMPI_COMM_WORLD_RANK:-$PMI_RANK}"
exec "$KRONORM" fit -c long.csv -y long.csv --use age --targets 'r*' --method stgpr --plain --folds 900 --threads 1 -o m.safetensors
END
begin

# Sends a signal to a rank, or to mpirun, while the first works and the second waits.
struck() { # rank or mpirun, signal
    rm -f "$logs"/pid.*
    mpirun."$mpi" -n 2 sh rank.sh "$logs" >"$logs/out" 2>"$logs/err" </dev/null &
    job=$!
    for i in $(seq 150); do grep -q ' the others wait' "$logs/err" && break || sleep 0.2; done
    sleep 1
    case $1 in mpirun) kill -"$2" $job ;; *) kill -"$2" "$(cat "$logs/pid.$1")" ;; esac
    (sleep 60 && kill -KILL $job) >/dev/null 2>&1 & # its sleep outlives it, and must not hold what meson reads
    limit=$!
    wait $job
    code=$?
    kill $limit 2>/dev/null
    gone
}

case $mpi in openmpi) killed=137 ;; *) killed=9 ;; esac
for rank in 0 1; do
    if struck $rank KILL; then
        ends "rank $rank killed: all end" $killed ""
    else
        not_ok "rank $rank killed: all end" "rank $alive is there"
    fi
    struck $rank TERM
    ends "rank $rank told to stop: all do" 130 "kronorm: stopped on request"
done
struck mpirun INT
said >"$logs/said" # Open MPI does not wait for long before it kills
check "Ctrl-C of mpirun: all stop, and it is said once, if there was time" \
    [ ! -s "$logs/said" -o "$(cat "$logs/said")" = "kronorm: stopped on request" ]
check "... and nothing is left behind" nothing
done_testing
