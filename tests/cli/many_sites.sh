#!/bin/sh
# More than 50 sites go through every command, and what people read stays short.
. "$(dirname "$0")/lib.sh"

# NAME.csv: `sites` sites of a study each ten, in turn, from the first one on; ages, sexes and four regions.
people() { # name, seed, first site, sites, people
    awk -v x="$2" -v first="$3" -v sites="$4" -v n="$5" -v name="$1" '
        function u() { x = (x * 16807) % 2147483647; return x / 2147483647 }
        function n01() { return (u() + u() + u() + u() + u() + u() - 3) * 1.414 }
        BEGIN {
            for (i = 0; i < 20; i++) u()
            print "participant_id,age,sex,study,site,a,b,c,d"
            for (i = 0; i < n; i++) {
                s = first + i % sites; age = 20 + int(6000 * u()) / 100
                printf "%s%05d,%.2f,%s,study%02d,site%04d", name, i, age, u() < 0.5 ? "F" : "M", int(s / 10), s
                for (j = 1; j <= 4; j++)
                    printf ",%.5f", 50 + j * age / 20 + 3 * sin(7 * j * s) + 2 * sin(3 * j * int(s / 10)) + 3 * n01()
                printf "\n"
            }
        }' >"$1.csv"
}
said() { grep -qxF -e "$1" "$logs/err"; }
longest() { awk '{ if (length > n) n = length } END { print n + 0 }' "$@"; }
use="--use age,sex,site --targets a,b,c,d"

people new 7 5000 2 20
people ctrl 5 5000 2 16
for sites in 60 90 300; do
    people all 3 0 $sites $((sites * 5 + 7))
    people few 9 0 $sites 40
    works "$sites sites: fit" fit -c all.csv -y all.csv $use -o m.safetensors --folds 5 --force
    check "... warns once of many levels" said "kronorm fit: warning: all.csv: category site has $sites levels, 0 of them with fewer than 5 participants; effects of small levels are uncertain and are shrunk towards the average"
    check "... and of nothing else" test "$(grep -c 'warning:' "$logs/err")" -eq 1
    check "... in lines of bounded length" test "$(longest "$logs/err" "$logs/out")" -lt 400
    works "$sites sites: info" info m.safetensors
    check "... lists ten of them" grep -q "site0009, ... $sites levels" "$logs/out"
    check "... in lines of bounded length" test "$(longest "$logs/out")" -lt 400
    works "$sites sites: score" score m.safetensors -c few.csv -y few.csv -o scored --force
    refused "$sites sites: a new one" "new.csv: 20 participants are from a site that is not in the training data (site5000, site5001); use 'kronorm adapt' with at least 5 healthy controls from there, or --unseen prior, which needs no controls but is less sensitive" \
        score m.safetensors -c new.csv -y new.csv -o never
    works "$sites sites: adapt" adapt m.safetensors -c ctrl.csv -y ctrl.csv -o adapted.safetensors --force
    works "... score the new ones" score adapted.safetensors -c new.csv -y new.csv -o scored_new --force
    works "$sites sites: centiles" centiles m.safetensors --over age -o centiles --force
    works "$sites sites: report" report m.safetensors --scored scored -o report.html --force
    check "... of bounded size" test "$(wc -c <report.html)" -lt 3000000
done
people all 3 0 90 457
works "90 sites: cv" cv -c all.csv -y all.csv $use --folds 5 -o cv_folds
check "... warnings are few" test "$(grep -c warning "$logs/err")" -le 4
check "... in lines of bounded length" test "$(longest "$logs/err" "$logs/out")" -lt 400
people all 3 0 60 307
works "60 sites: cv by site" cv -c all.csv -y all.csv $use --leave-out site --controls 3 -o cv_site
check "... has a row per site and method" test "$(cut -f 1 cv_site/metrics_by_site.tsv | tail -n +2 | sort -u | wc -l)" -ge 60
works "site within study" fit -c all.csv -y all.csv --use age,sex,study,site --batch study,site --targets a,b,c,d -o nested.safetensors --folds 5
works "... is adapted" adapt nested.safetensors -c ctrl.csv -y ctrl.csv -o nested_adapted.safetensors
works "... and scored" score nested_adapted.safetensors -c new.csv -y new.csv -o scored_nested

people all 3 0 61 304
refused "more levels than a fifth of the rows" "all.csv: category site has at least 61 levels in 304 rows, but at most 2000 and one per 5 rows are allowed; merge levels, or omit it from --use" \
    fit -c all.csv -y all.csv $use -o never.safetensors
people all 3 0 2001 10010
refused "more than 2000 levels" "all.csv: category site has at least 2001 levels in 10010 rows, but at most 2000 and one per 5 rows are allowed; merge levels, or omit it from --use" \
    fit -c all.csv -y all.csv $use -o never.safetensors
done_testing
