#!/bin/sh
# A de-identified model: it scores as the model does, and holds no participant.
here=$(cd "$(dirname "$0")" && pwd)
. "$here/lib.sh"

# 240 training participants and 40 new ones: age with decimals, sex, four sites of which one has three participants.
make_crowd() {
    awk 'function u() { x = (x * 16807) % 2147483647; return x / 2147483647 }
        function n() { return u() + u() + u() + u() - 2 }
        BEGIN {
            x = 11
            for (k = 0; k < 2; k++) {
                people = k ? "new_people.csv" : "people.csv"; values = k ? "new_values.csv" : "values.csv"
                print "participant_id,age,iq,sex,site" >people
                printf "participant_id" >values
                for (j = 1; j <= 25; j++) printf ",r%d", j >values
                print "" >values
                for (i = 1; i <= (k ? 40 : 240); i++) {
                    id = sprintf("%s%03d", k ? "newcomer" : "volunteer", i)
                    age = 20 + 60 * u(); iq = 100 + 15 * n(); sex = u() < 0.5 ? "F" : "M"
                    site = i <= 3 && !k ? "Delft" : substr("ABC", 1 + int(3 * u()), 1); e = n()
                    printf "%s,%.6f,%.2f,%s,%s\n", id, age, iq, sex, site >people
                    printf "%s", id >values
                    for (j = 1; j <= 25; j++)
                        printf ",%.5f", 5 - 0.01 * j * age + sin(age / 6) + (sex == "F") * 0.3 + 0.5 * e + n() >values
                    print "" >values
                }
            }
        }'
}
make_crowd

works "fit" fit -c people.csv -y values.csv --use age,sex,site --where 'participant_id!=volunteer200' -o model.safetensors
# without noise for unusual participants, so that predictions are those of the model
exact="--max-leverage 1"
works "export" export model.safetensors -o shared.safetensors $exact -v
check "... says by how much it differs, which is little" awk '/^  Training sample  *mean/ { found = $4 + 0 < 1e-4 && $8 + 0 < 1e-4 }
    /^  OK: predictions differ by at most/ { ok = $7 + 0 < 1e-3 } END { exit !(found && ok) }' "$logs/out"
check "... what it is" grep -q '^Exported a model of 239 participants without individual data: shared.safetensors$' "$logs/out"
check "... and whom it is nearly about" grep -qxF \
    "kronorm export: warning: site 'Delft' has only 3 training participants; the exported statistics could reveal individual values" "$logs/err"
check "nothing else is written" test "$(ls | grep -c shared)" = 1
works "once more, over it" export model.safetensors -o shared2.safetensors $exact --threads 2
check "... are the same bytes" cmp shared.safetensors shared2.safetensors

# ---- no participant is in it
nobody() { /usr/bin/python3 - "$1" people.csv <<'END'
import csv, struct, sys
data = open(sys.argv[1], "rb").read()
rows = list(csv.DictReader(open(sys.argv[2])))
ages = [float(r["age"]) for r in rows]
for r, age in zip(rows, ages):
    for what in (r["participant_id"].encode(), r["age"].encode(), struct.pack("<d", age), struct.pack("<f", age)):
        assert what not in data, (r, what)
assert b"volunteer" not in data and b"people.csv" not in data and b"where" not in data
for name in (b'"X"', b'"U"', b'"pivots"', b'"z_cv"', b'"y_sum"', b'"ids"', b'"groups"', b'"reference_sample"'):
    assert name not in data, name
END
}
check "no id, no age and no path is in the file" nobody shared.safetensors
check "... which are there in the model itself" sh -c "grep -q volunteer model.safetensors && grep -q where model.safetensors"
works "info" info shared.safetensors
check "... says that it is shareable" grep -q '^  shareable: it contains no individual data; ' "$logs/out"
check "... and to programs" sh -c "'$KRONORM' info shared.safetensors --json | grep -q '\"shareable\": true'"
check "... which the model is not" sh -c "'$KRONORM' info model.safetensors --json | grep -q '\"shareable\": false'"

# ---- it scores as the model does
works "new people by the model" score model.safetensors -c new_people.csv -y new_values.csv -o by_model
works "... and by what was given away" score shared.safetensors -c new_people.csv -y new_values.csv -o by_shared
check "... that it knows nobody is said" grep -qF "the model is de-identified" "$logs/err"
same() { /usr/bin/python3 - "$1" "$2" "$3" <<'END'
import csv, sys
def table(path):
    with open(path) as f:
        return list(csv.DictReader(f, delimiter="\t" if path.endswith(".tsv") else ","))
a, b = (table(f"{folder}/z.csv") for folder in sys.argv[1:3])
for x, y in zip(a, b):
    assert x["participant_id"] == y["participant_id"]
    for j in range(1, 26):
        assert abs(float(x[f"r{j}"]) - float(y[f"r{j}"])) < 1e-2
a, b = (table(f"{folder}/abnormality.tsv") for folder in sys.argv[1:3])
n = int(sys.argv[3])
for x, y in zip(a, b):
    for k in ("extreme_z", "deviance", "mean_z"):
        assert abs(float(x[k]) - float(y[k])) < 1e-2 * max(1, abs(float(x[k]))), (k, x[k], y[k])
    assert abs(float(x["extreme_z_p"]) - float(y["extreme_z_p"])) < 1e-3
    for k in ("deviance_p", "deviance_noise_p", "mean_z_p", "n_low_p", "n_high_p"):
        assert abs(float(x[k]) - float(y[k])) <= 1 / 200 + 2 / (n + 1), (k, x[k], y[k])
END
}
check "... z, statistics and p are the same" same by_model by_shared 239
works "people of training too" score shared.safetensors -c people.csv -y values.csv -o again
check "... are as anybody new" test "$(column again/abnormality.tsv in_training | sort -u)" = 0
works "predict" predict shared.safetensors -c new_people.csv -o predicted

works "each response alone" fit -c people.csv -y values.csv --use age,sex --method stgpr -o alone.safetensors
works "... exports" export alone.safetensors -o alone_shared.safetensors $exact
check "... nobody in it" nobody alone_shared.safetensors
works "... the model scores" score alone.safetensors -c new_people.csv -y new_values.csv -o by_alone
works "... and what was given away" score alone_shared.safetensors -c new_people.csv -y new_values.csv -o by_alone_shared
check "... the same" same by_alone by_alone_shared 240

# ---- groups
make_visits
works "visits of people" fit -c visits.csv -y visits.csv --use age,sex --targets a,b,c,d -o visits.safetensors
works "... export" export visits.safetensors -o visits_shared.safetensors $exact
check "... without who they are" sh -c "! grep -q s07 visits_shared.safetensors"
works "... scores as of new groups" score visits_shared.safetensors -c visits.csv -y visits.csv -o visits_scored
misused "... and knows none" ": --known-groups cannot be used, because visits_shared.safetensors is de-identified and has no training groups" \
    score visits_shared.safetensors -c visits.csv -y visits.csv --known-groups -o known

# ---- sites: what was given away can be adapted, and what was adapted given away
elsewhere() { awk -F, -v from="$2" -v to="$3" 'BEGIN { OFS = FS } NR == 1 || (NR > from && NR <= to + 1) { if (NR > 1 && NF == 5) $5 = "Leiden"; print }' "$1"; }
elsewhere new_people.csv 0 15 >control_people.csv
elsewhere new_values.csv 0 15 >control_values.csv
elsewhere new_people.csv 16 40 >other_people.csv
elsewhere new_values.csv 16 40 >other_values.csv
works "a model with sites" fit -c people.csv -y values.csv --use age,sex,site --batch site -o sites.safetensors
works "... export" export sites.safetensors -o sites_shared.safetensors $exact
check "... nobody in it" nobody sites_shared.safetensors
works "another site, by the model" score sites.safetensors -c other_people.csv -y other_values.csv --unseen prior -o by_prior
works "... by what was given away" score sites_shared.safetensors -c other_people.csv -y other_values.csv --unseen prior -o by_prior_shared
check "... the same" same by_prior by_prior_shared 240
works "adapted, the model" adapt sites.safetensors -c control_people.csv -y control_values.csv -o adapted.safetensors
works "... what was given away" adapt sites_shared.safetensors -c control_people.csv -y control_values.csv -o adapted_shared.safetensors
works "... and the adapted model given away" export adapted.safetensors -o shared_adapted.safetensors $exact
for m in adapted adapted_shared shared_adapted; do
    works "people of the new site by $m" score $m.safetensors -c other_people.csv -y other_values.csv -o by_$m
done
check "... are scored the same" same by_adapted by_adapted_shared 240
check "... any way" same by_adapted by_shared_adapted 240
check "an adapted model is as shareable as what was adapted" sh -c "'$KRONORM' info adapted_shared.safetensors --json | grep -q '\"shareable\": true'"
check "... nobody in it" nobody adapted_shared.safetensors

# numbers of participants and pairs of a model, those of the others in it too, are in none to give away
stranger() { /usr/bin/python3 - "$1" "$2" <<'END'
import json, struct, sys
def read(path):
    data = open(path, "rb").read()
    n = struct.unpack("<Q", data[:8])[0]
    head = json.loads(data[8:8 + n])
    record = json.loads(head.pop("__metadata__")["record"])
    def values(t):
        a, b = t["data_offsets"]
        return struct.unpack(f"<{(b - a) // 8}d", data[8 + n + a:8 + n + b]) if t["dtype"] == "F64" else ()
    return {k: values(t) for k, t in head.items()}, record
def is_own(x):
    return x == x and 2 * x != round(2 * x)
own, record = read(sys.argv[1])
given, other = read(sys.argv[2])
people = {"X", "extreme_z", "extrapolation", "deviance_ref", "change_extreme_z", "change_mean_z", "change_mean_z2"}
theirs = {x for k in people & set(own) for x in own[k] if is_own(x)} | {abs(x) for x in own["mean_z"] if is_own(x)}
ends = [x for c in record["design"]["columns"] for x in (c.get("min"), c.get("max")) if x is not None]
ends += [record["change"]["interval"][k] for k in ("least", "largest")] if "change" in record else []
ends += [x for a in record.get("adapted", []) for k in ("low", "high") for x in a[k] if x is not None]
theirs |= {x for x in ends if is_own(x)}
assert len(theirs) > 100
here = {x for v in given.values() for x in v}
def numbers(j):
    if isinstance(j, float): here.add(j)
    for x in j.values() if isinstance(j, dict) else j if isinstance(j, list) else (): numbers(x)
numbers(other)
assert not theirs & here, theirs & here
END
}
check "no end of a range of training is in the adapted model given away" stranger adapted.safetensors shared_adapted.safetensors

# ---- changes
awk -F, 'BEGIN { OFS = FS } NR == 1 { print $0, "session"; next } NR <= 26 { for (v = 1; v <= 2; v++) { if (v == 2) $2 = $2 + 1 + NR / 77; print $0, v } }' new_people.csv >two_people.csv
awk -F, 'BEGIN { OFS = FS } NR == 1 { $1 = $1 ",session"; print; next } NR <= 26 { id = $1; for (v = 1; v <= 2; v++) { $1 = id "," v
    if (v == 2) for (j = 2; j <= NF; j++) $j += ((j * 37 + NR * 91) % 100) / 100 - 0.5; print } }' new_values.csv >two_values.csv
how="-c two_people.csv -y two_values.csv --participant participant_id --visit session"
works "changes, kept" change model.safetensors $how --reference sex=F --save stable.safetensors -o changes
works "... export" export stable.safetensors -o stable_shared.safetensors $exact
check "... with a warning of how few they are" grep -q "^kronorm export: warning: the change reference has only [0-9]* participants; the exported statistics could reveal individual values" "$logs/err"
check "... without their values" stranger stable.safetensors stable_shared.safetensors
works "... a change by the model" change stable.safetensors $how -o by_stable
works "... and by what was given away" change stable_shared.safetensors $how -o by_stable_shared
changes() { /usr/bin/python3 - "$1" "$2" <<'END'
import csv, sys
a, b = (list(csv.DictReader(open(f"{d}/change.tsv"), delimiter="\t")) for d in sys.argv[1:])
assert len(a) == len(b) == 25
for x, y in zip(a, b):
    for k in x:
        if k in ("extreme_z", "mean_z", "deviance"):
            assert abs(float(x[k]) - float(y[k])) < 1e-2, (k, x[k], y[k])
        if k.endswith("_p") and x[k] != "n/a":
            assert abs(float(x[k]) - float(y[k])) <= 3 / 10, (k, x[k], y[k])
END
}
check "... are nearly the same" changes by_stable by_stable_shared
works "kept by what was given away" change shared.safetensors $how --reference sex=F --save kept_shared.safetensors -o changes2
check "... nobody's values either" stranger stable.safetensors kept_shared.safetensors

# ---- a participant with less than half of the responses has no deviance
awk -F, 'BEGIN { OFS = FS } NR == 7 { for (j = 2; j <= 20; j++) $j = "" } { print }' values.csv >gaps.csv
works "missing responses" fit -c people.csv -y gaps.csv --use age,sex -o gaps.safetensors
works "... export" export gaps.safetensors -o gaps_shared.safetensors $exact
works "... the model scores" score gaps.safetensors -c new_people.csv -y new_values.csv -o by_gaps
works "... and what was given away" score gaps_shared.safetensors -c new_people.csv -y new_values.csv -o by_gaps_shared
check "... the same" same by_gaps by_gaps_shared 240

# ---- more functions of covariates than half the participants
head -n 61 people.csv >sixty_people.csv
head -n 61 values.csv >sixty_values.csv
works "two numbers of sixty people" fit -c sixty_people.csv -y sixty_values.csv --use age,iq -o sixty.safetensors
works "... export" export sixty.safetensors -o sixty_shared.safetensors $exact
check "... with a warning that they can be found" grep -qE \
    "^kronorm export: warning: predictions need [3-6][0-9] functions of the covariates of 60 participants, which could reveal the covariates" "$logs/err"
check "... and does not claim that nobody is in it" grep -q 'a model of 60 participants whose covariates can be reconstructed: ' "$logs/out"
works "... neither does info" info sixty_shared.safetensors
check "... which says the same" grep -q '^  shareable: the covariates of so few participants can be reconstructed from it; ' "$logs/out"
for seed in shared shared-alone; do # that damaged ones are made of: it must be whole itself
    works "the fuzzer begins from a model: $seed" info "$here/../fuzz/corpus/model/$seed"
done
check "... which one number has not" sh -c "'$KRONORM' export alone.safetensors -o again_shared.safetensors 2>&1 >/dev/null | grep -c functions | grep -qx 0"

# ---- few participants
head -n 4 people.csv >few_people.csv
head -n 4 values.csv >few_values.csv
works "three people" fit -c few_people.csv -y few_values.csv --use age -o few.safetensors
works "... export" export few.safetensors -o few_shared.safetensors $exact
check "... with a warning" grep -qxF \
    "kronorm export: warning: the model has only 3 training participants; the exported statistics could reveal individual values" "$logs/err"
works "... and score" score few_shared.safetensors -c new_people.csv -y new_values.csv -o few_scored

# ---- rows, ids and groups were chosen by options that it does not have
refused "a jackknife" "--bands jackknife: a de-identified model does not keep all options of its fit; use the model that it was exported from" \
    centiles shared.safetensors --over age --bands jackknife -c people.csv -y values.csv -o bands

# ---- a plain sum of kernels, and each response alone
for m in "linear+se --sample-kernel linear+se" "stgpr --method stgpr"; do
    name=${m%% *}
    works "the $name model" fit -c people.csv -y values.csv --use age,sex ${m#* } --folds 3 -o $name.safetensors -q
    works "... exports" export $name.safetensors -o shared_$name.safetensors $exact
    works "... can be opened again" info shared_$name.safetensors
    works "... predicts" predict $name.safetensors -c new_people.csv --write yhat -o $name.whole
    works "... as does the export" predict shared_$name.safetensors -c new_people.csv --write yhat -o $name.shared
    check "... the same means" /usr/bin/python3 -c '
import csv, sys
a, b = (list(csv.reader(open(p)))[1:] for p in sys.argv[1:])
assert len(a) == len(b) > 0 and all(abs(float(x) - float(y)) < 0.02 for r, s in zip(a, b) for x, y in zip(r[1:], s[1:]))
' $name.whole/yhat.csv $name.shared/yhat.csv
done

# ---- what is refused
works "a course of a fiftieth of the range" fit -c people.csv -y values.csv --use age --sample-kernel linear+se --length 0.03 --rho 0.9 \
    --max-evals 0 --components 1 -o short.safetensors
kronorm export short.safetensors -o coarse.safetensors --points 2
check "too few points are refused, with the error" grep -q "^kronorm: the export is too inaccurate: means or standard deviations differ by up to 0.* standard deviations from those of the model, but at most 0.01 is allowed; try --points 16\$" "$logs/err"
check "... and leave nothing" test ! -e coarse.safetensors
refused "a file that is there" "shared.safetensors already exists; use --force to replace it" export model.safetensors -o shared.safetensors
refused "the model itself" "model.safetensors is an input of this run, so it is not replaced; choose another output" export model.safetensors -o model.safetensors --force
misused "what was exported" ": the model is already de-identified; it contains no training participants" export shared.safetensors -o twice.safetensors
works "iso noise" fit -c people.csv -y values.csv --use age --noise iso --folds 0 -o iso.safetensors
misused "... is none to export" ": a model with iso noise cannot be exported; fit it with --noise structured" export iso.safetensors -o iso_shared.safetensors
works "the full Kronecker product" fit -c people.csv -y values.csv --use age --method kronprod --folds 0 -o kron.safetensors
misused "... neither" ": MT-Kronprod models cannot be exported; use the default method" export kron.safetensors -o kron_shared.safetensors
misused "one value of a number" " export: --points is 1; it must be 2 to 200 (see 'kronorm export --help')" export model.safetensors -o one.safetensors --points 1
# ---- maps of unusual participants
works "export with its defaults" export model.safetensors -o blurred.safetensors -v
check "... says how much of a map the file tells, and what that costs" grep -q \
    "^  Noise for [0-9]* unusual participants: the share of a map that the file determines is 0.15, not 0.[0-9]*;\$" "$logs/out"
works "... and scores" score blurred.safetensors -c new_people.csv -y new_values.csv -o by_blurred -q
check "... the same file each time" sh -c "'$KRONORM' export model.safetensors -o blurred2.safetensors -q && cmp blurred.safetensors blurred2.safetensors"
misused "a share that is none" " export: --max-leverage is 2; it must be 0.01 to 1 (see 'kronorm export --help')" \
    export model.safetensors -o one.safetensors --max-leverage 2
done_testing
