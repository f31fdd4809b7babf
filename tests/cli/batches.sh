#!/bin/sh
# What predict and score hold does not grow with the number of samples, but for the responses read.
. "$(dirname "$0")/lib.sh"
T=20000 map=80 # thousands of bytes of a sample's map, float32
promise="memory does not grow with the number of samples"
for need in /usr/bin/python3 /usr/bin/time; do
    [ -x $need ] || { skip "$promise" "no $need"; done_testing; exit 0; }
done
if grep -qa __asan_init "$KRONORM"; then
    skip "$promise" "the address sanitizer keeps what is freed"
    done_testing
    exit 0
fi
people() { awk -v n="$1" 'BEGIN { print "age"; for (i = 0; i < n; i++) print 20 + i * 7 % 60 }'; }
people 40 >train.csv
people 100 >fewest.csv
people 600 >few.csv
people 1500 >many.csv
/usr/bin/python3 - 2>"$logs/check" <<P || { skip "$promise" "no numpy"; done_testing; exit 0; }
import numpy
r = numpy.random.default_rng(1)
y = r.standard_normal((40, $T)).astype("f4")
y += r.standard_normal($T).astype("f4") * numpy.arange(40)[:, None] * 7 % 60 / 30
numpy.save("train.npy", y)
numpy.save("fewest.npy", numpy.tile(y, (3, 1))[:100])
numpy.save("few.npy", numpy.tile(y, (15, 1)))
P
works "fit" fit -c train.csv -y train.npy -P 2 -o model.safetensors
peak() { # arguments of kronorm; kilobytes
    /usr/bin/time -f %M -o "$logs/peak" "$KRONORM" "$@" -q >"$logs/out" 2>"$logs/err" || exit 1
    cat "$logs/peak"
}
# 900 samples more; 16 MB of slack, a fifth of what one map of theirs would take
few=$(peak predict model.safetensors -c few.csv --write yhat -o few)
many=$(peak predict model.safetensors -c many.csv --write yhat -o many)
check "predict: $few kB for 600 samples, $many kB for 1500" test $((many - few)) -lt 16000
few=$(peak predict model.safetensors -c few.csv -o few2)
many=$(peak predict model.safetensors -c many.csv -o many2)
check "predict, two maps: $few kB for 600 samples, $many kB for 1500" test $((many - few)) -lt 16000
# 500 samples more, of which a map would take 40 MB
few=$(peak score model.safetensors -c fewest.csv -y fewest.npy -o scored_few)
many=$(peak score model.safetensors -c few.csv -y few.npy -o scored_many)
check "score holds the responses and no map: $few kB for 100 samples, $many kB for 600" \
    test $((many - few)) -lt $((500 * map + 16000))
done_testing
