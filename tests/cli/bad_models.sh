#!/bin/sh
# Model files that are not what they should be: one sentence, exit code 1, from every command.
. "$(dirname "$0")/lib.sh"
make_tables
"$KRONORM" fit -c people.csv -y thickness.csv --sample-kernel linear+se -o model.safetensors -q

bad() { # promise, file, sentence without the file's name
    refused "$1: info" "$2$3" info "$2"
    refused "$1: info --json" "$2$3" info "$2" --json
    refused "$1: predict" "$2$3" predict "$2" -c people.csv -o out
    refused "$1: score" "$2$3" score "$2" -c people.csv -y thickness.csv -o out
}
size=$(wc -c <model.safetensors)
header=$(od -An -tu8 -N8 model.safetensors | tr -d ' ')
head -c 1000 model.safetensors >cut.safetensors
bad "cut in the header" cut.safetensors ": the file ends after 1000 bytes, within a header of $header bytes; get the file again"
head -c $((size - 1)) model.safetensors >cut.safetensors
bad "cut by a byte" cut.safetensors ": the file ends after $((size - 1)) of $size bytes"
head -c 4 model.safetensors >cut.safetensors
bad "cut to nothing" cut.safetensors " is not a safetensors file; 4 bytes are too few for one"
cp people.csv table.safetensors
bad "not a safetensors file" table.safetensors " is not a safetensors file"
sed 's/"format":"kronorm model"/"format":"another thing"/' model.safetensors >other.safetensors
bad "another program's file" other.safetensors " is a safetensors file, but not a kronorm model"
sed 's/"format_version":"1"/"format_version":"3"/' model.safetensors >draft.safetensors
version=$("$KRONORM" --version)
bad "another format" draft.safetensors \
    " has format version 3, but $version reads version 1; fit again, or use the kronorm that wrote it"
bad "not there" lost.safetensors " cannot be opened: no such file or directory"
mkdir folder
bad "a folder" folder " is a folder; give the name of a file"

# The second array begins before the first has ended.
sed 's/"data_offsets":\[960,13760\]/"data_offsets":[952,13752]/' model.safetensors >over.safetensors
cmp -s model.safetensors over.safetensors && not_ok "the layout this test knows" "U is elsewhere"
bad "overlapping offsets" over.safetensors ": tensor 'U' overlaps 'X'"
sed 's/"data_offsets":\[960,/"data_offsets":[952,/' model.safetensors >long.safetensors
bad "offsets that do not fit the shape" long.safetensors \
    ": tensor 'U' has 12808 bytes, its shape and dtype need 12800"
# ---- one byte that is another: 200 of them, anywhere in the file
sum=$(sed -n 's/.*"checksum":"\([0-9a-f]*\)".*/\1/p;q' model.safetensors)
sed 's/"software":"0/"software":"9/' model.safetensors >changed.safetensors
for command in "info changed.safetensors" "score changed.safetensors -c people.csv -y thickness.csv -o out"; do
    kronorm $command -q
    said=$(sed 's/file is [0-9a-f]*, but '"$sum"'/file is ..., but .../' "$logs/err")
    [ $code -eq 1 ] && [ "$said" = "kronorm: changed.safetensors: the checksum of the file is ..., but ... was written; the file was changed or damaged" ] &&
        ok "a changed header: ${command%% *}" || not_ok "a changed header: ${command%% *}" "$said"
done
sed 's/"checksum":/"checksun":/' model.safetensors >nosum.safetensors
bad "without its checksum" nosum.safetensors \
    " has no checksum, because it was changed, or written by a development version of kronorm; fit again"
edited 's/"software":"0/"software":"9/' model.safetensors >resealed.safetensors
works "a file with the checksum of its bytes is read" info resealed.safetensors
accepted=0 refusals=0 i=0
while [ $i -lt 200 ]; do # every twentieth in the first kilobyte
    at=$(awk -v i=$i -v n="$size" 'BEGIN { x = (i + 1) * 16807 * 48271 % 2147483647
        print int(x / 2147483647 * (i % 20 ? n : 1024)) }')
    byte=$(od -An -tu1 -j"$at" -N1 model.safetensors | tr -d ' ')
    cp model.safetensors flip.safetensors
    patch flip.safetensors "$at" "\\$(printf %03o $(((byte + 1 + i % 255) % 256)))"
    case $((i % 2)) in
    0) kronorm info flip.safetensors ;;
    *) kronorm score flip.safetensors -c people.csv -y thickness.csv -o flipped -q ;;
    esac
    if [ $code -eq 1 ] && [ "$(wc -l <"$logs/err")" -eq 1 ] && [ ! -e flipped ]; then
        refusals=$((refusals + 1))
    else
        accepted=$((accepted + 1))
    fi
    i=$((i + 1))
done
check "200 of 200 changed bytes are refused in one sentence, $accepted are not" [ $refusals -eq 200 ]
# ---- models with groups and a design: parts of a file that do not belong together
make_visits
train() { "$KRONORM" fit -c visits.csv -y visits.csv --targets a,b,c,d -q "$@"; }
train --use age,sex --group family -o family.safetensors
train --use age,sex --method stgpr -o alone.safetensors
train --use age,tesla --no-standardise -o tesla.safetensors
mixed() { # promise, model, sed script of the same length, what is named
    edited "$3" "$2" >mixed.safetensors
    if cmp -s "$2" mixed.safetensors; then not_ok "$1" "the file is written otherwise"; return; fi
    refused "$1" "mixed.safetensors: $4 is missing or invalid; the file was changed or damaged" info mixed.safetensors
    refused "$1: score" "mixed.safetensors: $4 is missing or invalid; the file was changed or damaged" \
        score mixed.safetensors -c visits.csv -y visits.csv -o out
}
mixed "a group's column without a name" family.safetensors \
    's/\\"column\\":\\"family\\"/\\"colunm\\":\\"family\\"/' "'group'"
mixed "shares of groups without the groups" family.safetensors \
    's/"group":{/"Group":{/; s/\\"group\\":{/\\"Group\\":{/' group
mixed "noise among the terms of a single response" alone.safetensors \
    's/\\"kernel\\":\\"same\\"/\\"kernel\\":\\"iso\\" /' "'kernel'"
mixed "a number that the design has as a category" tesla.safetensors \
    's/{\\"min\\":3.0,\\"max\\":3.0,\\"constant\\":true}/{\\"shares\\":[1.0]                         }/' "'recipe'"

# ---- arrays with values that no fit writes
train --use age,sex,site -o plain.safetensors
numbered() { # array, value, model
    /usr/bin/python3 "$here/../python/set_array.py" "$1" "$2" <"$3" >number.safetensors
    refused "$1 of $2" "number.safetensors: $1 is missing or invalid; the file was changed or damaged" info number.safetensors
}
for array in x_mean y_mean y_trivial_mean site_mu mean_z extrapolation; do
    numbered $array -inf plain.safetensors
done
numbered y_mean nan plain.safetensors
refused "... also for a score" "number.safetensors: y_mean is missing or invalid; the file was changed or damaged" \
    score number.safetensors -c visits.csv -y visits.csv -o out
numbered lml inf alone.safetensors
for array in A B X; do numbered $array 1e120 plain.safetensors; done
/usr/bin/python3 "$here/../python/set_array.py" A 1e90 <plain.safetensors >number.safetensors
refused "a prediction beyond single precision is not written" \
    "yhat of response 1 exceeds the range of single precision; check the units of the responses in the fit" \
    predict number.safetensors -c visits.csv -o new
done_testing
