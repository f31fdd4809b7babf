#!/bin/sh
# The page: what report makes of a model and of folders, and what it refuses.
. "$(dirname "$0")/lib.sh"

make_tables
awk -F , 'NR == 1 || NR <= 31' regions.csv >train.csv
awk -F , 'BEGIN { OFS = "," } NR == 1 { print $0, "group"; next } NR > 31 { if (NR < 35) $5 -= .6; print $0, NR < 35 ? "patient" : "control" }' \
    regions.csv >test.csv
fit="--use age,sex,site --targets ?h_*"
works "fit" fit -c train.csv -y train.csv $fit -o model.safetensors
check "... says how to look at it" grep -qxF "Next: kronorm score model.safetensors -c NEW.csv -y NEW.csv -o scored" "$logs/out"
works "score" score model.safetensors -c test.csv -y test.csv --cases group=patient -o 'scored people'
check "... says how to look at it, with a path as a shell takes it" grep -qxF \
    "Next: kronorm report model.safetensors --scored 'scored people' -o report.html" "$logs/out"
mv 'scored people' scored
works "cv" cv -c regions.csv -y regions.csv $fit --folds 3 -o held_out
check "... says how to look at it" grep -qxF "Next: kronorm report held_out -o report.html" "$logs/out"

whole() { # page: one that ends, and asks for nothing from elsewhere
    head -c 15 "$1" | grep -qi '^<!doctype html>' && tail -n 1 "$1" | grep -q '</html>' &&
        ! grep -Eo '(src|href)="[^"]*"' "$1" | grep -Ev '="(#|data:)'
}
works "a page of a model and a folder" report model.safetensors --scored scored -o report.html
check "... is whole, and asks for nothing from elsewhere" whole report.html
check "... is told, with what it is" grep -q '^Report of 10 participants, 4 responses: report.html ([0-9.]* MB)' "$logs/out"
check "... is personal data" grep -q 'personal data' "$logs/out"
check "... and says so" grep -qi 'personal data' report.html
kronorm report model.safetensors --scored scored --memory 20M -o roomless.html
check "one without room is refused" grep -qE '^kronorm: this report needs [0-9.]+ MB \(model [0-9.]+ [kM]B, work space [0-9.]+ MB, program and BLAS [0-9.]+ MB\), but --memory allows 20.0 MB$' "$logs/err"
check "... and nothing is written" test $code -eq 1 -a ! -e roomless.html
works "one with room" report model.safetensors --scored scored --memory 1G --verbose -o roomy.html
check "... says what it needs" grep -qE 'memory: this report needs [0-9.]+ MB \(.*\), most of it for the [a-z]+; --memory allows 1.0 GB$' "$logs/err"
check "... and is the same page" cmp report.html roomy.html
kronorm report held_out --memory 20M -o held_small.html
check "of a folder of cv too" grep -qE '^kronorm: this report needs [0-9.]+ MB .*, but --memory allows 20.0 MB$' "$logs/err"
truncate -s 100G scored/zurich_backup.tar # of which no block is on the disk
works "a file of somebody else's in the folder does not count" report model.safetensors --scored scored -o beside.html
rm scored/zurich_backup.tar
works "the same again" report model.safetensors --scored scored -o again.html
check "... is the same bytes" cmp report.html again.html
works "... with one thread too" report model.safetensors --scored scored --threads 1 -o one.html
check "... the same bytes" cmp report.html one.html
works "a page of a model alone" report model.safetensors -o model.html
check "... is whole" whole model.html
check "... and states its purpose at the top and at the end" test "$(grep -c 'Research use only. Not a diagnosis; p-values are not corrected for the number of participants.' report.html)" = 2
works "names of levels and a unit, kept in the model" fit -c train.csv -y train.csv $fit --names 'sex:F=female,M=male' --unit mm -o named.safetensors
works "... in the report" report named.safetensors -o named.html --json
check "... are those of the cohort, the curves and the text" /usr/bin/python3 -c 'import json, sys
r = json.load(open(sys.argv[1])); assert r["unit"] == "mm"
sex = next(c for c in r["cohort"]["columns"] if c["name"] == "sex"); assert sex["levels"] == ["female", "male"], sex
assert {c["level"] for c in r["curves"][0]["curves"]} == {"female", "male"}; assert r["curves"][0]["curves"][0]["label"].startswith("sex=female")
t = " ".join(r["words"]["paragraphs"]); assert "in mm" in t and " male" in t, t' "$logs/out"
works "... are replaced by options of the report" report named.safetensors --names sex:F=women --unit cm --json
check "... in every section" /usr/bin/python3 -c 'import json, sys
r = json.load(open(sys.argv[1])); assert r["unit"] == "cm"
assert next(c for c in r["cohort"]["columns"] if c["name"] == "sex")["levels"] == ["women", "M"]' "$logs/out"
fails "a name of a level that is not there" 2 "kronorm: --names: there is no categorical covariate 'sex' with a level 'X'" \
    report named.safetensors --names sex:X=other -o x.html
fails "... in fit too" 2 "kronorm: --names: there is no categorical covariate 'age' with a level '1'" \
    fit -c train.csv -y train.csv $fit --names age:1=young -o x.safetensors
fails "names without a column" 2 "kronorm: --names is 'F=female', but must be COLUMN:LEVEL=NAME,LEVEL=NAME, such as sex:0=female,1=male" \
    report model.safetensors --names F=female -o x.html
works "a page of cv" report held_out -o cv.html
check "... is whole" whole cv.html
check "... and has everybody" grep -q s40 cv.html

works "figures, with their numbers" report model.safetensors --scored scored --figures figures
check "... a csv for each svg" sh -c 'for f in figures/*.svg; do test -s "${f%.svg}.csv" || exit 1; done; test -s figures/qq.svg -a -s figures/curve-1.svg'
works "the numbers as JSON" report model.safetensors --scored scored --json
check "... which is JSON, of these people" /usr/bin/python3 -c 'import json, sys
r = json.load(open(sys.argv[1])); assert [p["id"] for p in r["people"]] and len(r["people"]) == 10, r["people"]' "$logs/out"
works "without ids" report model.safetensors --scored scored --strip-ids --title 'A study' -o stripped.html
check "... nobody is named" sh -c "! grep -q 's3[1-9]\|s40' stripped.html && grep -q participant-1 stripped.html"
check "... under the title that was given" grep -q '<title>A study' stripped.html
works "cards of those who are asked for" report model.safetensors --scored scored --people s35,s40 --json
check "... and no others" /usr/bin/python3 -c 'import json, sys
r = json.load(open(sys.argv[1])); p = r["people"]; assert sorted(p[c["person"]]["id"] for c in r["cards"]) == ["s35", "s40"]' "$logs/out"
works "curves of those that are asked for" report model.safetensors --scored scored --show 'rh_*' --json
check "... and no others" /usr/bin/python3 -c 'import json, sys
r = json.load(open(sys.argv[1])); assert sorted(c["name"] for c in r["curves"]) == ["rh_a", "rh_b"]' "$logs/out"
fails "a pattern that names nothing" 2 "kronorm: --show: no response matches 'nix*'" \
    report model.safetensors --scored scored --show 'rh_*,nix*' -o x.html
works "a page that must be small" report model.safetensors --scored scored --max-size 200k -o small.html
check "... is" test "$(wc -c <small.html)" -le 200000
check "... and says what it left out" grep -q 'cards</strong>.*max-size' small.html
kronorm report model.safetensors --scored scored --max-size 100k -o tiny.html
check "one that cannot be is refused" grep -q '^kronorm: tiny.html: the report takes [0-9]* kB without cards, thumbnails and the table of participants, but --max-size is 100 kB; increase --max-size$' "$logs/err"
check "... with exit code 2, and nothing is written" test $code -eq 2 -a ! -e tiny.html

works "another model" fit -c train.csv -y train.csv --use age --targets '?h_*' -o other.safetensors
kronorm report other.safetensors --scored scored -o other.html
check "a folder of another model is refused by its hash" grep -q 'kronorm: scored was made with another model (xxh64:' "$logs/err"
check "... with exit code 1, and nothing is written" test $code -eq 1 -a ! -e other.html
misused "cv beside a model" ": held_out was written by cv, which has no single model; give the folder alone" \
    report model.safetensors --scored held_out -o x.html
misused "no output" " report: option -o (--output), --figures or --json is required (see 'kronorm report --help')" report model.safetensors
misused "no model" " report: the name of a model file is missing (see 'kronorm report --help')" report
kronorm report model.safetensors --scored scored -o report.html
check "a page is not written over" grep -q '^kronorm: report.html already exists' "$logs/err"
works "... but by --force" report model.safetensors --scored scored -o report.html --force
kronorm report model.safetensors --scored nowhere -o x.html
check "no such folder" test $code -eq 1 -a ! -e x.html
kronorm report model.safetensors --scored scored --people s99 -o x.html
check "nobody of that name" grep -qxF "kronorm: --participants: scored/scored_participants.tsv has no ID 's99'; did you mean s39?" "$logs/err"
check "... nothing is written" test $code -ne 0 -a ! -e x.html
kronorm report model.safetensors --scored scored --show 'nosuch*' -o x.html
check "no response of that name" grep -q "'nosuch\*'" "$logs/err"
check "... nothing is written either" test $code -ne 0 -a ! -e x.html

# Covariates that say nothing: calibration lowers MSLL, and nothing is praised.
awk 'function u() { x = (x * 16807) % 2147483647; return x / 2147483647 }
    function n() { return u() + u() + u() + u() - 2 }
    BEGIN {
        x = 11
        print "participant_id,x1,x2,r1,r2,r3,r4"
        for (i = 1; i <= 60; i++)
            printf "s%02d,%.4f,%.4f,%.4f,%.4f,%.4f,%.4f\n", i, n(), n(), exp(n()), exp(n()), exp(n()), exp(n())
    }' >random.csv
works "cv with random covariates" cv -c random.csv -y random.csv --use x1,x2 --targets 'r?' -o random
check "... prints the gain" grep -qE '^  Accuracy     R² -0\.[0-9]{3}   MSLL -0\.[0-9]{3}   gain -?0\.0[0-9]{2}$' "$logs/out"
works "... has a page" report random --json
check "... that does not say that they help" sh -c '! grep -q "covariates improve prediction" "$0"' "$logs/out"
check "... but that they do not" grep -q "The covariates do not improve prediction." "$logs/out"
check "... and calls no response well predicted" grep -qE '"response":[{].*"best":\[\]' "$logs/out"
works "a model of them" fit -c random.csv -y random.csv --use x1,x2 --targets 'r?' -o random.safetensors
works "... that scores its own training sample" score random.safetensors -c random.csv -y random.csv -o random_own
works "... has a page" report random.safetensors --scored random_own -o random.html
check "... with the command and the inputs of the fit" sh -c 'grep -q "kronorm fit --covariates random.csv --use x1,x2" random.html && grep -q "hash of the training responses" random.html'
check "... whose mean R2 is cross-validated" grep -qE 'Mean R²</dt><dd>[^0-9]*0\.[0-9]+ <small>\(training sample, cross-validated\)' random.html
check "... without a table of the best predicted" sh -c '! grep -q "Best predicted responses" random.html'
check "... and without a word of help" sh -c '! grep -q "covariates improve prediction" random.html'

make_images
works "images" fit -c study/train_participants.tsv --use age,sex,site -y study/train_images.txt -m study/mask.nii.gz -o images.safetensors
works "... scored" score images.safetensors -c study/test_participants.tsv -y study/test_images.txt --cases group=patient -o maps
fails "too many to look at" 2 "kronorm: --show selects more than 100 responses; select fewer" \
    report images.safetensors --scored maps --show '*' -o x.html
works "... have a page" report images.safetensors --scored maps -o images.html
check "... which is whole, with pictures" sh -c 'grep -q "data:image/png;base64," images.html'
check "... and asks for nothing from elsewhere" whole images.html

# Maps of no participant: neither small ones nor cards, and no fault.
works "a model of images without ids, which keeps no maps" fit -c study/train_participants.tsv --use age,sex,site -y study/train_images.txt -m study/mask.nii.gz --strip-ids -o shared.safetensors
works "... alone" report shared.safetensors -o shared.html
check "... is whole" whole shared.html
check "... without maps of people" sh -c '! grep -q "class=.thumbs" shared.html'

misused "a page that is too small" " report: --max-size is '10k', but must be 100k or more (see 'kronorm report --help')" \
    report images.safetensors --scored maps --max-size 10k -o x.html
done_testing
