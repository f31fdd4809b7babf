#!/bin/sh
# P-values: by distribution or by rank, never below the smallest that the reference allows, to which side, and
# what of a map stands out by itself.
. "$(dirname "$0")/lib.sh"

# NAME.csv, all in one: participants with ids of their own, age, and so many responses; `shift` is added to the first.
make_maps() { # name, people, responses, seed, shift of the first person
    awk -v name="$1" -v n="$2" -v T="$3" -v seed="$4" -v shift="$5" '
        function u() { x = (x * 16807) % 2147483647; return x / 2147483647 }
        function g() { return u() + u() + u() + u() + u() + u() + u() + u() + u() + u() + u() + u() - 6 }
        BEGIN {
            x = seed
            for (i = 0; i < 10; i++) u()
            printf "participant_id,age"
            for (j = 1; j <= T; j++) printf ",r%d", j
            print ""
            for (i = 1; i <= n; i++) {
                age = 20 + int(50 * u()); e = g()
                printf "%s%03d,%d", name, i, age
                for (j = 1; j <= T; j++) printf ",%.5f", 3 - 0.02 * age + 0.2 * e + g() + (i == 1 ? shift : 0)
                print ""
            } }' >"$1.csv"
}
train() { # table, options ...: a model of that name
    name=$1
    shift
    kronorm fit -c $name.csv -y $name.csv --use age --targets 'r*' -o $name.safetensors "$@"
}
said() { grep -qF -e "$1" "$logs/err"; }
# every p of these columns is at least so much
not_below() { # folder, least
    for p in extreme_z_p deviance_p deviance_noise_p mean_z_p n_low_p n_high_p; do
        column "$1/abnormality.tsv" $p | awk -v least="$2" '
            $1 != "n/a" && !($1 >= least * (1 - 1e-12) && $1 <= 1) { print $1; exit 1 }' || return 1
    done
}
cell() { column "$1/abnormality.tsv" "$2" | sed -n "$3p"; } # folder, column, row

make_maps few 20 40 11 0
make_maps some 40 40 12 0
make_maps many 90 40 13 0
make_maps new 12 40 14 12 # the first is far out, to one side
make_maps mild 200 40 15 0
for m in few some many; do
    train $m
    cp "$logs/err" $m.log
    works "$m people, scored" score $m.safetensors -c new.csv -y new.csv -o $m
done

# ---- fewer than 30
cp few.log "$logs/err"
check "of 20 p are ranks, and fit says so" said \
    "warning: there are only 20 reference participants, so p-values are computed from ranks and cannot be below 0.048"
check "... multiples of 1/21" sh -c 'cut -f 4 few/abnormality.tsv | awk "
    NR > 1 { k = \$1 * 21; d = k - int(k + .5); if (!(d * d < 1e-18 && k > .5)) exit 1 }"'
check "... the smallest for whom nobody is like" awk -v p="$(cell few extreme_z_p 1)" 'BEGIN { d = p - 1 / 21; exit !(d * d < 1e-18) }'
check "... which is no bound, but what was found" test "$(cell few p_note 1)" = n/a
check "... and there is no law" grep -q '"gev": null' few/summary.json

# ---- 30 to 80, and more
check "of 40 fit says how small p can be" grep -qx '40 reference participants: extreme_z_p is at least 0.012' some.log
check "somebody extreme has that, not 0" awk -v p="$(cell some extreme_z_p 1)" 'BEGIN { d = p - 1 / 82; exit !(d * d < 1e-18) }'
check "... and it is called a bound" test "$(cell some p_note 1)" = bound
check "of 90 it is smaller" awk -v p="$(cell many extreme_z_p 1)" 'BEGIN { d = p - 1 / 182; exit !(d * d < 1e-18) }'
check "... and a bound too" test "$(cell many p_note 1)" = bound
check "no p of anything is below 1/(2 (N + 1)): of 20" not_below few "$(awk 'BEGIN { printf "%.17g", 1 / 42 }')"
check "... of 40" not_below some "$(awk 'BEGIN { printf "%.17g", 1 / 82 }')"
check "... of 90" not_below many "$(awk 'BEGIN { printf "%.17g", 1 / 182 }')"
notes() { # folder, people: rough is what is below .02 and above the bound, of fewer than 80
    paste "$1/p" "$1/note" | awk -F '\t' -v n="$2" '
        { bound = 1 / (2 * (n + 1)); expected = $1 <= bound ? "bound" : $1 < .02 && n < 80 ? "rough" : "n/a"
          seen[$2]++; if ($2 != expected) { print $1, $2; exit 1 } }
        END { exit !(n < 80 ? seen["rough"] > 0 : seen["rough"] == 0) }'
}
awk -F, -v OFS=, 'NR > 1 { for (j = 3; j <= NF; j++) $j = 1.9 + 1.36 * ($j - 1.9) } 1' mild.csv >wide.csv
for m in some many; do
    kronorm score $m.safetensors -c wide.csv -y wide.csv -o $m.wide -q
    column $m.wide/abnormality.tsv extreme_z_p >$m.wide/p
    column $m.wide/abnormality.tsv p_note >$m.wide/note
done
check "of 40 what is below .02 is called rough" notes some.wide 40
check "... of 90 it is not" notes many.wide 90

# ---- the same participants again
works "training ids" score some.safetensors -c some.csv -y some.csv -o again
check "... are compared with the others" sh -c 'awk -F "\t" "
    NR == 1 { for (i = 1; i <= NF; i++) at[\$i] = i; next }
    { m[NR] = \$at[\"mean_z\"]; p[NR] = \$at[\"mean_z_p\"]; c[NR] = \$at[\"n_low\"]; q[NR] = \$at[\"n_low_p\"]; n = NR }
    END { for (i = 2; i <= n; i++) { a = b = 0
            for (k = 2; k <= n; k++) if (k != i) { a += m[k] * m[k] >= m[i] * m[i]; b += c[k] >= c[i] }
            d = p[i] - (1 + a) / (n - 1); e = q[i] - (1 + b) / (n - 1)
            if (!(d * d < 1e-18 && e * e < 1e-18)) exit 1 } exit n != 41 }" again/abnormality.tsv'

# ---- signs
check "the extreme one is so to one side" awk -v n="$(cell some n_low 1)" -v p="$(cell some n_high 1)" \
    -v m="$(cell some mean_z 1)" 'BEGIN { exit !(n == 0 && p > 30 && m > 3) }'
check "... which no reference person is" awk -v n="$(cell some n_low_p 1)" -v p="$(cell some n_high_p 1)" \
    -v m="$(cell some mean_z_p 1)" 'BEGIN { exit !(n > .1 && (p - 1 / 41)^2 < 1e-18 && (m - 1 / 41)^2 < 1e-18) }'
check "counts are of z.csv" sh -c 'awk -F "[,\t]" "
    NR == FNR { if (FNR > 1) for (j = 2; j <= NF; j++) { low[\$1] += \$j < -1.96; high[\$1] += \$j > 1.96; s[\$1] += \$j / 40 }; next }
    FNR == 1 { for (i = 1; i <= NF; i++) at[\$i] = i; next }
    { d = s[\$1] - \$at[\"mean_z\"]
      if (low[\$1] + 0 != \$at[\"n_low\"] || high[\$1] + 0 != \$at[\"n_high\"] || !(d * d < 1e-12)) exit 1; n++ }
    END { exit n != 12 }" some/z.csv some/abnormality.tsv'
works "--threshold" score some.safetensors -c wide.csv -y wide.csv --threshold 2.5 -o strict
for c in n_low n_high n_low_p n_high_p extreme_z mean_z_p; do
    column strict/abnormality.tsv $c >$c.strict
    column some.wide/abnormality.tsv $c >$c.wide
done
check "... counts fewer" sh -c 'for c in n_low n_high; do
    paste $c.strict $c.wide | awk "{ if (\$1 > \$2) exit 1; less += \$1 < \$2 } END { exit !(less > 10) }" || exit 1; done'
check "... of the reference too, so that p are other ones" sh -c '! cmp -s n_low_p.strict n_low_p.wide &&
    awk "\$1 < 1 { n++ } END { exit !(n > 5) }" n_low_p.strict'
check "... and changes nothing else" sh -c 'cmp -s extreme_z.strict extreme_z.wide && cmp -s mean_z_p.strict mean_z_p.wide'
misused "a threshold of 0" " score: --threshold is 0; it must be above 0 (see 'kronorm score --help')" \
    score some.safetensors -c new.csv -y new.csv --threshold 0 -o no

# ---- few responses
make_maps one 40 1 16 0
make_maps onenew 5 1 17 12
make_maps five 40 5 18 0
make_maps fivenew 5 5 19 12
train one
check "one response: p are ranks, and fit says so" said \
    "warning: there is only one response, so p-values are computed from ranks and cannot be below 0.024"
works "... and is scored" score one.safetensors -c onenew.csv -y onenew.csv -o one
check "... the statistic is |z|" sh -c \
    '[ "$(cut -d, -f 2 one/z.csv | tail -n 5 | tr -d -)" = "$(cut -f 3 one/abnormality.tsv | tail -n 5)" ]'
check "... the extreme one's p 1/41" awk -v p="$(cell one extreme_z_p 1)" 'BEGIN { d = p - 1 / 41; exit !(d * d < 1e-18) }'
train five
works "five responses" score five.safetensors -c fivenew.csv -y fivenew.csv -o five
check "... are too few to count" test "$(for c in n_low n_low_p n_high n_high_p; do
    column five/abnormality.tsv $c; done | sort -u)" = n/a
check "... not for a mean, nor for FDR" sh -c 'for c in mean_z mean_z_p n_high_fdr extreme_z_high n_responses; do
    cut -f 1- five/abnormality.tsv | awk -F "\t" -v c=$c "NR == 1 { for (i = 1; i <= NF; i++) if (\$i == c) k = i; next }
        \$k == \"n/a\" { exit 1 }" || exit 1; done'
check "... and are said to be five" test "$(column five/abnormality.tsv n_responses | sort -u)" = 5

# ---- participants whose group is known have no reference
make_visits
kronorm fit -c visits.csv -y visits.csv --use age,sex --targets a,b,c,d -o visits.safetensors -q
awk -F, -v OFS=, 'NR == 1 || NR == 2 || NR == 4 { if (NR > 1) $10 += 0.02; print }
    NR == 6 { $1 = "n1"; $10 += 0.02; print }' visits.csv >further.csv
works "a further visit" score visits.safetensors -c further.csv -y further.csv --known-groups -o known
for c in extreme_z_p deviance_p deviance_noise_p mean_z_p p_note; do
    check "... has no $c" test "$(column known/abnormality.tsv $c | head -n 2 | sort -u)" = n/a
done
check "... but a statistic" sh -c '! cut -f 3 known/abnormality.tsv | grep -q n/a'
check "... and somebody new has p" awk -v p="$(cell known extreme_z_p 3)" 'BEGIN { exit !(p > 0 && p <= 1) }'

# ---- labels
awk -F, -v OFS=, '{ print $0, NR == 1 ? "group" : NR <= 4 ? "patient" : "control" }' new.csv >labelled.csv
works "--cases" score some.safetensors -c labelled.csv -y new.csv --cases group=patient -o labelled
for k in extreme_z deviance deviance_noise mean_z mean_z_size n_low extreme_z_low n_high extreme_z_high; do
    check "... an AUC by $k" sh -c "sed -n '/\"AUC\"/,/^  }/p' labelled/summary.json | grep -A 1 '\"$k\": {' | grep -q '\"auc\": [01]\\.'"
done
check "... and no other" test "$(grep -c '"auc": ' labelled/summary.json)" -eq 9
check "a larger mean z is more" awk -v a="$(grep -A 1 '"mean_z": {' labelled/summary.json | tail -n 1 | tr -dc 0-9.)" \
    -v b="$(grep -A 1 '"extreme_z_high": {' labelled/summary.json | tail -n 1 | tr -dc 0-9.)" 'BEGIN { exit !(a > 0 && b > 0) }'
flagged() { # rows from, to: how many have deviance_p at most .05
    column labelled/abnormality.tsv deviance_p | sed -n "$1,$2p" | awk '$1 <= .05 { n++ } END { print n + 0 }'
}
found() { # rows from, to: with a finding
    awk -F '\t' -v from="$1" -v to="$2" 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
        NR > from && NR <= to + 1 { n += $at["n_low_fdr"] + $at["n_high_fdr"] > 0 } END { print n + 0 }' labelled/abnormality.tsv
}
check "score prints how many are flagged, and how many of healthy people are; patients apart" grep -qE \
    "^    whole-map deviance, p <= 0.05 +$(flagged 1 3) / 3 +$(flagged 4 12) / 9 +0.4$" "$logs/out"
check "... the column says the same" test "$(column labelled/abnormality.tsv flagged | tr '\n' ' ')" = \
    "$(column labelled/abnormality.tsv deviance_p | awk '{ printf "%d ", $1 <= .05 }')"
share=$("$KRONORM" info some.safetensors --json | grep '"fdr_share"' | awk '{ printf "%.1f", 100 * $2 }')
check "... and how many have findings, beside the reference's own share" grep -qE \
    "^    any response after FDR +$(found 1 3) / 3 +$(found 4 12) / 9 +$(awk "BEGIN { printf \"%.1f\", 9 * $share / 100 }")$" "$logs/out"
kronorm report some.safetensors --scored labelled -o labelled.html --json
check "flagged participants are as many in the summary and in the report" /usr/bin/python3 -c 'import json, sys
a, page = json.load(open("labelled/summary.json"))["abnormality"], json.load(open(sys.argv[1]))["abnormality"]
assert a["flag"] == {"column": "deviance_p", "at_most": 0.05}, a
told = [a["others"]["flagged"], a["others"]["with_p"], a["cases"]["flagged"], a["cases"]["with_p"]]
assert told == [int(x) for x in sys.argv[2:]], told
assert [page["flagged"], page["flagged_of"]] == told[:2], page' "$logs/out" "$(flagged 4 12)" 9 "$(flagged 1 3)" 3
# training participants, some of them cases, and new ones in one table: the command, the page and the column count alike
{ cat labelled.csv && tail -n +2 some.csv | awk -F, -v OFS=, '{ print $0, NR % 5 ? "control" : "patient" }'; } >both.csv
works "new and training participants" score some.safetensors -c both.csv -y both.csv --cases group=patient -o both
cp "$logs/out" both.out
kronorm report some.safetensors --scored both --json
check "the counts of the command, the page and the table agree" /usr/bin/python3 -c 'import csv, json, re, sys
rows = list(csv.DictReader(open("both/abnormality.tsv"), delimiter="\t"))
page = json.load(open(sys.argv[1]))["abnormality"]
text = open("both.out").read()
def printed(what):
    return [int(x) for x in re.search(what + r" +(\d+) / (\d+) +(\d+) / (\d+)", text).groups()]
def table(small):
    out = []
    for label in "10":
        some = [r for r in rows if r["label"] == label and r["flagged"] != "n/a"]
        out += [sum(map(small, some)), len(some)]
    return out
assert len(rows) == 52 and sum(r["flagged"] == "n/a" for r in rows) == 40
assert all((r["flagged"] == "n/a") == (r["in_training"] == "1") for r in rows)
flagged = table(lambda r: r["flagged"] == "1")
assert printed("whole-map deviance, p <= 0.05") == flagged == [page["cases_flagged"]["found"], page["cases_flagged"]["of"], page["flagged"], page["flagged_of"]]
extreme = table(lambda r: float(r["extreme_z_p"]) <= 0.05)
assert printed("extreme values, p <= 0.05") == extreme == [page["extreme_cases"]["found"], page["extreme_cases"]["of"], page["extreme_controls"]["found"], page["extreme_controls"]["of"]]
assert printed("any response after FDR") == table(lambda r: float(r["n_low_fdr"]) + float(r["n_high_fdr"]) > 0)' "$logs/out"
make_maps tiny 12 40 20 0
train tiny
works "12 people" score tiny.safetensors -c new.csv -y new.csv -o tiny
check "... can flag nobody, which is said" grep -qx '    The reference sample is too small for a p-value of 0.05.' "$logs/out"

# ---- FDR maps
sed '3s/^\(new[0-9]*,[0-9]*\),[^,]*,/\1,,/' new.csv >gap.csv
works "--write fdr" score some.safetensors -c gap.csv -y gap.csv --write z,fdr -o fdr
check "... is z where Benjamini and Hochberg reject, 0 elsewhere, n/a where z is" sh -c 'paste -d, fdr/z.csv fdr/fdr.csv | awk -F, "
    NR == 1 { next }
    { bar = 1e9; found = zero = 0
      for (j = 2; j <= 41; j++) { z = \$j; f = \$(j + 41)
          if (z == \"n/a\" || f == \"n/a\") { if (z != f) exit 1; gaps++; continue }
          a = z < 0 ? -z : z
          if (f == 0) { if (a > zero) zero = a } else { if (f != z) exit 1; found++; if (a < bar) bar = a } }
      if (zero >= bar) exit 1
      n[NR] = found }
    END { print n[2]; exit !(gaps == 1 && n[2] > 20) }"'
check "... as many as are counted" sh -c '[ "$(awk -F, "NR > 1 { n = p = 0; for (j = 2; j <= NF; j++) { n += \$j + 0 < 0; p += \$j + 0 > 0 }; print n, p }" fdr/fdr.csv)" = \
    "$(awk -F "\t" "NR == 1 { for (i = 1; i <= NF; i++) at[\$i] = i; next } { print \$at[\"n_low_fdr\"], \$at[\"n_high_fdr\"] }" fdr/abnormality.tsv)" ]'
kronorm score some.safetensors -c gap.csv -y gap.csv --write fdr -o fdr_alone -q
check "... the same without z" sh -c 'cmp fdr_alone/fdr.csv fdr/fdr.csv && ! test -e fdr_alone/z.csv'
misused "... and not of predictions" ": fdr maps need responses; use 'kronorm score'" \
    predict some.safetensors -c new.csv --write yhat,fdr -o no

# ---- what info tells of it
kronorm info some.safetensors
check "info tells the layer" grep -qx "  calibration: Student's t with 39 degrees of freedom" "$logs/out"
check "... and the reference" grep -qxF \
    "  reference sample: 40 participants; smallest extreme_z_p 0.012 (extreme-value distribution); $share% have a significant response after FDR correction" "$logs/out"
kronorm info few.safetensors
check "... which may be ranks" grep -q "^  reference sample: 20 participants; smallest extreme_z_p 0.048 (rank); " "$logs/out"
kronorm info visits.safetensors
check "... or of groups" grep -q "^  reference sample: 60 participants in 30 groups; smallest extreme_z_p 0.016 (extreme-value distribution); " "$logs/out"
train many --force -v
calibration=$(sed -n 's/^  Calibration  *//p' "$logs/out") reference=$(sed -n 's/^  Reference sample  *//p' "$logs/out")
check "fit --verbose prints the calibration with what was kept" sh -c "echo '$reference' | grep -q '% have a significant' &&
    echo \"$calibration\" | grep -q 'noise linear in the covariates (held-out gain'"
kronorm info many.safetensors
check "... as info does" grep -qxF -e "  calibration: ${calibration:-none}" "$logs/out"
check "... and the reference" grep -qxF "  reference sample: $reference" "$logs/out"
kronorm info many.safetensors --json
check "info --json tells both" awk '/"calibration": / { c = 1 } c && /"nu": 89/ { nu = 1 } c && /"gain": / { g++ }
    /"smallest_p": 0.0054945/ { s = 1 } /"p_by": "gev"/ { b = 1 } /"units": 90/ { u = 1 } END { exit !(nu && g == 3 && s && b && u) }' "$logs/out"
train few --calibrate none --folds 0 --force -v
check "without either" grep -qE '^  Calibration  *none; z-scores are residuals divided by their SD$' "$logs/out"
kronorm info few.safetensors
check "... info says so" grep -qx '  reference sample: none, and no p-values' "$logs/out"

# ---- 12 participants
head -n 13 many.csv >dozen.csv
train dozen
works "12 participants, scored" score dozen.safetensors -c new.csv -y new.csv -o dozen
check "... no p is below 1/26" not_below dozen "$(awk 'BEGIN { printf "%.17g", 1 / 26 }')"
check "... with every column" test "$(head -n 1 dozen/abnormality.tsv)" = "$(head -n 1 some/abnormality.tsv)"
done_testing
