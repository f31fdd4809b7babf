#!/bin/sh
# Sidecars: beside each table a JSON file in BIDS form describes its columns, from src/columns.def.
. "$(dirname "$0")/lib.sh"
# Each table of the folders has a sidecar, with exactly its columns in their order and complete entries; maps have "*".
described() { /usr/bin/python3 - "$@" <<'PY'
import csv, json, os, sys
minimum, found = set(sys.argv[1].split()), set()
for folder in sys.argv[2:]:
    for name in sorted(os.listdir(folder)):
        stem, ending = os.path.splitext(name)
        if ending not in (".tsv", ".csv"):
            continue
        with open(f"{folder}/{name}", newline="") as file:
            header = next(csv.reader(file, delimiter="\t" if ending == ".tsv" else ","))
        with open(f"{folder}/{stem}.json") as file:
            sidecar = json.load(file)
        if ending == ".csv":
            assert [k for k in sidecar if k != "*"] == [h for h in header if h == "participant_id"] and "*" in sidecar, name
        else:
            assert list(sidecar) == header, (name, list(sidecar), header)
        for column, entry in sidecar.items():
            assert entry["Description"] and set(entry) <= {"Description", "Units", "Levels"}, (name, column)
        if ending == ".tsv":
            for row in csv.DictReader(open(f"{folder}/{name}"), delimiter="\t"):
                for column, entry in sidecar.items():
                    assert "Levels" not in entry or row[column] in [*entry["Levels"], "n/a"], (name, column, row[column])
        found.add(name)
assert found >= minimum, minimum - found
PY
}

"$KRONORM" simulate --regions 24 --sites 4 --visits 2 --samples 80 --patients 6 -o s -q
fit="--use age,sex,site --targets region_*"
works "fit" fit -c s/train_participants.tsv -y s/train_regions.csv $fit -P 3 -o m.safetensors
works "score" score m.safetensors -c s/test_participants.tsv -y s/test_regions.csv --cases group=patient --write z,fdr,yhat,ys2_model,ys2,metrics -o scored
check "... describes its tables" described "abnormality.tsv metrics.tsv scored_participants.tsv z.csv fdr.csv yhat.csv ys2_model.csv ys2.csv ys2_noise.csv" scored
works "predict" predict m.safetensors -c s/test_participants.tsv -o predicted
check "... describes its tables" described "scored_participants.tsv yhat.csv ys2_model.csv ys2_noise.csv" predicted
for part in 1 2; do
    kronorm score m.safetensors -c s/test_participants.tsv -y s/test_regions.csv --cases group=patient -o parts --part $part/2 -q
done
works "job parts" score m.safetensors -c s/test_participants.tsv -y s/test_regions.csv --cases group=patient -o parts --join 2
check "... are joined with the same sidecars" sh -c 'for f in abnormality metrics scored_participants z; do cmp scored/$f.json parts/$f.json || exit 1; done'
works "maps of single participants" score m.safetensors -c s/test_participants.tsv -y s/test_regions.csv --split -o split
check "... have no sidecar of their own" test "$(ls split/*.json | tr '\n' ' ')" = "split/abnormality.json split/metrics.json split/scored_participants.json split/summary.json "
works "adapt" adapt m.safetensors -c s/adapt_participants.tsv -y s/adapt_regions.csv -o adapted.safetensors
mkdir table && mv adapted.adapt.* table
check "... describes its table" described adapted.adapt.tsv table
works "cv of sites" cv -c s/train_participants.tsv -y s/train_regions.csv $fit -P 3 --leave-out site --controls 6 -o left
check "... describes its tables" described "abnormality.tsv metrics.tsv scored_participants.tsv z.csv folds.tsv metrics_by_site.tsv" left left/adapted
works "lists" cv -c s/train_participants.tsv --split test=.2 -o lists
check "... describe their table" described folds.tsv lists
works "folds into the same folder" cv -c s/train_participants.tsv -y s/train_regions.csv --use age,sex --targets 'region_*' -P 3 --folds 3 --force -o left
check "... leave no sidecar without its table" test "$(ls left | grep -c by_site)$(ls left | grep -c adapted)" = 00
works "overlap" overlap scored --by group -c s/test_participants.tsv -o overlap
check "... describes its tables" described "overlap.tsv difference.tsv" overlap
works "change" change m.safetensors -c s/visits_participants.tsv -y s/visits_regions.csv --visit session --reference group=control -o change
check "... describes its tables" described "change.tsv change_z.csv" change
works "centiles" centiles m.safetensors --over age --grid 5 --people s/test_participants.tsv -y s/test_regions.csv -o curves
check "... describes its tables" described "centiles.tsv params.tsv points.tsv" curves

mkdir sim && cp s/*.tsv s/*.json sim
check "simulate describes its tables" described "participants.tsv train_participants.tsv test_participants.tsv adapt_participants.tsv new_participants.tsv visits_participants.tsv" sim
check "... and the truth" described "patients.tsv visits.tsv sites.tsv" s/truth
works "simulate without sites" simulate --size small --seed 4 -o plain
mkdir plain_tables && cp plain/*.tsv plain/*.json plain_tables
check "... describes its tables" described "participants.tsv train_participants.tsv test_participants.tsv" plain_tables

# ---- sidecars are outputs
mkdir taken && echo mine >taken/abnormality.json
refused "a sidecar that is there is kept" "taken/abnormality.json already exists; use --force to replace it" \
    score m.safetensors -c s/test_participants.tsv -y s/test_regions.csv -o taken
works "... or replaced" score m.safetensors -c s/test_participants.tsv -y s/test_regions.csv -o taken --force
check "... by its columns" described "abnormality.tsv" taken
check "the page of columns is made of the same table" sh -c '"$KRONORM" help --columns-md | grep -qxF "## abnormality.tsv"'
done_testing
