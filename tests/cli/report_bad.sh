#!/bin/sh
# The page against its worst inputs: outputs that would destroy something or do not fit, folders that are
# damaged, texts with markup, and participants whose ids must not be published.
. "$(dirname "$0")/lib.sh"

awk 'function u() { x = (x * 16807) % 2147483647; return x / 2147483647 }
    function n(  k, s) { s = 0; for (k = 0; k < 12; k++) s += u(); return s - 6 }
    function row(id, age, family, visit, file) {
        printf("%s,%d,%.1f,%s,%s,%s,%.4f,%.4f,%.4f,%.4f\n", id, visit, age + visit, id % 2 ? "F" : "M", family,
            n() > 0.8 ? "patient" : "control", age / 20 + n(), n(), 3 + n(), n()) >file
    }
    BEGIN {
        x = 11
        head = "participant_id,visit,age,sex,family,group,r1,r2,r3,r4"
        print head >"train.csv"; print head >"new.csv"; print head >"visits.csv"
        for (i = 1; i <= 40; i++) row("t" i, 20 + 50 * u(), i % 2 ? "of participant-3" : "B", 1, "train.csv")
        for (i = 1; i <= 12; i++) row("participant-" (13 - i), i == 1 ? 190 : 20 + 50 * u(), i % 2 ? "of participant-3" : "B", 1, "new.csv")
        for (i = 1; i <= 20; i++) for (v = 1; v <= 2; v++) row("v" i, 20 + 2 * i, "B", v, "visits.csv")
    }' </dev/null
works "fit" fit -c train.csv -y train.csv --use age,family --targets 'r?' -o model.safetensors
works "score" score model.safetensors -c new.csv -y new.csv --cases group=patient -o scored
works "change" change model.safetensors -c visits.csv -y visits.csv --visit visit --reference group=control -o changed
works "cv" cv -c train.csv -y train.csv --use age --targets 'r?' --folds 3 -o held_out
R="report model.safetensors --scored scored"

# ---- outputs ------------------------------------------------------------------------------------

for file in model.safetensors scored/scored_participants.tsv scored/abnormality.tsv scored/summary.json scored/z.csv; do
    ln -f $file link
    refused "$file is an input" "link is an input of this run, so it is not replaced; choose another output" $R -o link --force
    rm link
done
ln -s scored/z.csv link.html
refused "... by another name too" "link.html is an input of this run, so it is not replaced; choose another output" $R -o link.html --force
ln changed/change_z.csv changes
refused "changes are inputs" "changes is an input of this run, so it is not replaced; choose another output" \
    report model.safetensors --scored changed -o changes --force
ln held_out/folds.tsv folds
refused "maps of cv are inputs" "folds is an input of this run, so it is not replaced; choose another output" \
    report held_out -o folds --force
works "page and figures in the folder itself" $R -o scored/page.html --figures scored -q
works "... are replaced by --force" $R -o scored/page.html --figures scored --force -q
rm scored/page.html scored/*.svg
find scored -name '*.csv' ! -name z.csv -exec rm {} +
works "... and the folder is as good as before" $R -o page.html
refused "a folder that is not there" "none/page.html cannot be written: no such file or directory" $R -o none/page.html
refused "... for figures" "none/figures cannot be created: no such file or directory" $R -o x.html --figures none/figures
refused "page and figures of one name" "both is a folder; give the name of a file" $R -o both --figures both
cp train.csv plain
refused "figures in a file" "plain/cohort-1.svg cannot be written: not a directory" $R --figures plain
mkdir there
echo mine >there/qq.svg
refused "a figure that is there" "there/qq.svg already exists; use --force to replace it" $R -o x.html --figures there
refused "a device" "/dev/full is a pipe or a device; give the name of a file" $R -o /dev/full --force

limited() { # promise, blocks of 512 bytes, what does not fit, arguments ...: as a disk that is full
    promise=$1 blocks=$2 file=$3
    shift 3
    tree >"$logs/before"
    (ulimit -f "$blocks" && exec "$KRONORM" "$@" -q) >"$logs/out" 2>"$logs/err"
    code=$?
    tree >"$logs/after"
    if [ $code -eq 1 ] && cmp -s "$logs/before" "$logs/after" &&
        grep -q "^kronorm: $file cannot be written: file too large$" "$logs/err"; then
        ok "$promise"
    else
        not_ok "$promise" "$(diff "$logs/before" "$logs/after")"
    fi
}
limited "no room for the page" 100 x.html $R -o x.html
limited "no room for a figure: no folder either" 20 'pictures/.*' $R -o x.html --figures pictures
limited "no room for the page: figures go too" 200 x.html $R -o x.html --figures pictures
if [ -w /dev/full ]; then
    "$KRONORM" $R --json >/dev/full 2>"$logs/err"
    check "JSON that cannot be written is told" test $? -eq 1 -a -s "$logs/err"
fi

# ---- folders ------------------------------------------------------------------------------------

bad() { # promise, sentence, folder, command that spoils its copy in "bad"
    cp -r "$3" bad
    (cd bad && eval "$4")
    refused "$1" "$2" report model.safetensors --scored bad -o x.html --figures pictures
    rm -rf bad
}
bad "a record that was cut" "bad/summary.json line 4 is not JSON; run the command again" scored \
    'head -n 3 summary.json >s && mv s summary.json'
bad "a record of nothing" "bad/summary.json line 1 is not JSON; run the command again" scored ': >summary.json'
bad "a folder for a record" "bad/summary.json is a folder; give the name of a file" scored 'rm summary.json; mkdir summary.json'
bad "a pipe for people" "bad/scored_participants.tsv is a pipe or a device, but must be a file" scored 'rm scored_participants.tsv; mkfifo scored_participants.tsv'
bad "a link to itself" "bad/z.csv cannot be opened: too many levels of symbolic links" scored 'rm z.csv; ln -s z.csv z.csv'
bad "nobody" "bad/scored_participants.tsv has a header but no rows" scored 'sed -i 2,\$d scored_participants.tsv'
bad "z of fewer people" "bad/z.csv has 11 maps, but there are 12 participants in scored_participants.tsv; score again into a new folder" scored 'sed -i \$d z.csv'
bad "z of others" "bad/z.csv line 2: participant_id is 'participant-11', but 'participant-12' in scored_participants.tsv; score again into a new folder" scored \
    '(sed -n 1p z.csv; sed -n 3p z.csv; sed -n 2p z.csv; sed 1,3d z.csv) >s; mv s z.csv'
bad "z of other responses" "bad/z.csv: column 2 is 'r2', but 'r1' in the model" scored \
    'sed -i "1s/r1,r2/r2,r1/" z.csv'
bad "z of fewer responses" "bad has z maps of 3 responses, but the model has 4" scored \
    'cut -d, -f1-4 z.csv >s; mv s z.csv'
bad "z that are no numbers" "bad/z.csv line 3: r1 is 'zero', but must be a number" scored 'sed -i "3s/,[^,]*/,zero/" z.csv'
bad "no z" "bad has no z maps; run score with --write z" scored 'rm z.csv'
bad "no verdicts" "bad/abnormality.tsv cannot be opened: no such file or directory" scored 'rm abnormality.tsv'
bad "no covariates" "bad/scored_participants.tsv has no column 'age' (a covariate of the model); its columns are participant_id, status, why, extrapolation_pct, label, ..." \
    scored 'sed -i "1s/age/x_____________/" scored_participants.tsv'
bad "a reference that was cut" "bad/reference.json line 2 is not JSON; run the command again" changed \
    'head -n 1 reference.json >s; mv s reference.json'
bad "changes of other responses" "bad/change_z.csv: column 3 is 'nix', but 'r2' in the model" changed \
    'sed -i "1s/r2/nix/" change_z.csv'
cp -r held_out bad
sed -i '2s/^r1/r4/' bad/metrics.tsv
refused "metrics of other responses without a model" \
    "bad/metrics.tsv line 2: response is 'r4', but 'r1' in the z maps" report bad -o x.html
rm -rf bad
cp -r scored bad
sed -i '3s/,[^,]*/,1e308/; 5s/,[^,]*/,nan/' bad/z.csv
awk -F '\t' 'BEGIN { OFS = "\t" } NR == 3 { for (k = 2; k <= NF; k++) $k = "1e308" } { print }' bad/abnormality.tsv >s && mv s bad/abnormality.tsv
works "numbers beyond all measure have a page" report model.safetensors --scored bad -o huge.html --figures huge -q
rm -rf bad
head -c 3000 model.safetensors >cut.safetensors
kronorm report cut.safetensors -o x.html
check "a model that was cut" test $code -eq 1 -a "$(wc -l <"$logs/err")" -eq 1 -a ! -e x.html
if [ "$(id -u)" -ne 0 ]; then
    cp -r scored bad
    chmod 0 bad/scored_participants.tsv
    refused "people who may not be read" "bad/scored_participants.tsv cannot be opened: permission denied" \
        report model.safetensors --scored bad -o x.html
    rm -rf bad
fi

# ---- images -------------------------------------------------------------------------------------

make_images
works "fit images" fit -c study/train_participants.tsv --use age,sex,site -y study/train_images.txt -m study/mask.nii.gz -o images.safetensors
works "score images" score images.safetensors -c study/test_participants.tsv -y study/test_images.txt -o maps
I="report images.safetensors --scored maps"
volumes=$(($(wc -l <maps/scored_participants.tsv) - 1))
refused "a background of everybody" "maps/z.nii.gz has $volumes volumes, but --background must be a single image" $I --background maps/z.nii.gz -o x.html
refused "a background of no image" "train.csv is not an image (.nii, .nii.gz, .hdr, .img, .mgh, .mgz, .gii)" $I --background train.csv -o x.html
head -c 300 study/mask.nii.gz >half.nii.gz
kronorm $I --background half.nii.gz -o x.html
check "a background that was cut" grep -q '^kronorm: half.nii.gz: the compressed data ' "$logs/err"
check "... has no page" test $code -eq 1 -a ! -e x.html
ln study/mask.nii.gz mask
refused "a background is an input" "mask is an input of this run, so it is not replaced; choose another output" \
    $I --background study/mask.nii.gz -o mask --force
for name in z.nii.gz metrics_z2.nii.gz; do
    cp -r maps bad
    rm -f bad/metrics.tsv
    head -c 1000 bad/$name >s && mv s bad/$name
    kronorm report images.safetensors --scored bad -o x.html --figures pictures
    check "$name that was cut" grep -q "^kronorm: bad/$name: the compressed data " "$logs/err"
    check "... has no page" test $code -eq 1 -a ! -e x.html -a ! -e pictures
    rm -rf bad
done
works "a page of images" $I -o one.html --threads 1
works "... by two threads" $I -o two.html --threads 2
check "... is the same but for its name" test "$(sed 's/two.html/one.html/g; s/ --threads [12]//' two.html | cksum)" = "$(sed 's/ --threads [12]//' one.html | cksum)"

# ---- ids ----------------------------------------------------------------------------------------

# Those of the folder are participant-12 to participant-1: as others are called in a page without ids.
works "a page without ids" $R --strip-ids --people participant-3,participant-12 --title 'of participant-5' -o stripped.html --figures stripped --json
cp "$logs/out" stripped.json
works "... and with them" $R --people participant-3,participant-12 --json
cat >look.py <<'EOF'
import glob, json, re, sys
own, stripped = json.load(open(sys.argv[1])), json.load(open("stripped.json"))
ids = [p["id"] for p in own["people"]]
assert ids[0] == "participant-12" and "participant-3" in ids, ids
assert [p["id"] for p in stripped["people"]] == ["participant--%d" % (k + 1) for k in range(12)]
assert stripped["title"] == "of participant--8", stripped["title"]
levels = next(c for c in stripped["cohort"]["columns"] if c["name"] == "family")["levels"]
assert "of participant--10" in levels, levels
far = [w["words"] for w in stripped["summary"]["warnings"] if w["code"] == "extrapolation"]
assert far and "participant--1" in far[0], far
for f in ["stripped.html", "stripped.json"] + glob.glob("stripped/*"):
    found = re.search(r"participant-[0-9]+", open(f, encoding="utf-8").read())
    assert not found, (f, found)
EOF
check "... nobody is named, and nobody is taken for another" /usr/bin/python3 look.py "$logs/out"

# ---- texts --------------------------------------------------------------------------------------

awk -F, 'BEGIN { OFS = ","
        split("<script>alert(1)</script>|\"\"><img src=x onerror=alert(1)>|=1+1|@a|/etc/passwd|]]>|<!--|S1|s1|\001\033[31m|\342\200\256\342\200\250|\360\237\247\240", id, "|")
    }
    FNR == 1 { $3 = "age"; $5 = "\"fam</title>ily\""; $7 = "\"lh_</svg>\"\"_thickness\""; $8 = "=r2"; print; next }
    FILENAME == "new.csv" { $1 = "\"" id[FNR - 1] "\"" }
    { $5 = $5 == "B" ? "\"</script><b>\"" : "\"a\"\"&'"'"'\""; print }' new.csv >odd_new.csv
awk -F, 'BEGIN { OFS = "," }
    FNR == 1 { $5 = "\"fam</title>ily\""; $7 = "\"lh_</svg>\"\"_thickness\""; $8 = "=r2"; print; next }
    { $5 = $5 == "B" ? "\"</script><b>\"" : "\"a\"\"&'"'"'\""; print }' train.csv >odd_train.csv
works "fit to odd names" fit -c odd_train.csv -y odd_train.csv --use 'age,fam</title>ily' --targets 'lh_*,=r2,r3,r4' -o '<m> & "q".safetensors'
works "score odd ids" score '<m> & "q".safetensors' -c odd_new.csv -y odd_new.csv --cases group=patient -o 'a<b>'
works "a page of them" report '<m> & "q".safetensors' --scored 'a<b>' --title '</title><script>alert(1)</script>' -o odd.html --figures odd --json
cat >parse.py <<'EOF'
import csv, glob, html.parser, json, os, re, sys, xml.parsers.expat
VOID = set("br col hr img input meta".split())
class Page(html.parser.HTMLParser):
    scripts = 0
    def __init__(self):
        super().__init__()
        self.open = []
    def handle_starttag(self, tag, given):
        for name, value in given:
            assert not name.startswith("on") and name != "style", (tag, name)
            assert name not in ("src", "href") or value[:1] == "#" or value.startswith("data:"), value
        self.scripts += tag == "script"
        if tag not in VOID:
            self.open.append(tag)
    def handle_startendtag(self, tag, given):
        self.handle_starttag(tag, given)
        if tag not in VOID:
            self.open.pop()
    def handle_endtag(self, tag):
        if tag not in VOID:
            assert self.open.pop() == tag, tag
text = open("odd.html", "rb").read().decode("utf-8")
page = Page()
page.feed(text)
page.close()
assert not page.open and page.scripts == 2, (page.open, page.scripts)
assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e]", text)
for f in os.listdir("odd"):
    assert re.fullmatch(r"[a-z0-9-]+\.(svg|csv)", f), f
for f in glob.glob("odd/*.svg"):
    xml.parsers.expat.ParserCreate().Parse(open(f, "rb").read(), True)
for f in glob.glob("odd/*.csv"):
    assert len({len(row) for row in csv.reader(open(f, encoding="utf-8", newline=""))}) == 1, f
ids = [p["id"] for p in json.loads(open(sys.argv[1], "rb").read().decode("utf-8"))["people"]]
assert "<script>alert(1)</script>" in ids and "S1" in ids and "s1" in ids, ids
rows = list(csv.reader(open("odd/strip.csv", encoding="utf-8", newline="")))
assert any("=1+1" in row for row in rows)  # texts of tables are as they were given
EOF
check "... is whole, and so are figures, tables and JSON" /usr/bin/python3 parse.py "$logs/out"
awk -F, 'BEGIN { OFS = "," } NR == 1 { for (k = 1; k <= 1024; k++) $7 = $7 "r" } { print }' train.csv >long.csv
fails "a response with a name too long to be kept" 1 \
    "kronorm: long.csv: 'r1$(printf '%058d' 0 | tr 0 r)...' has 1026 bytes; the name of a response can have at most 1023" \
    fit -c train.csv -y long.csv --use age --targets 'r1*' -o long.safetensors
done_testing
