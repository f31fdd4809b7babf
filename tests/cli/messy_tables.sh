#!/bin/sh
# 44 tables as people have them: each is read as its clean copy is, or refused or warned of with a sentence. None is
# silently something else. Prints what became of each.
. "$(dirname "$0")/lib.sh"

lml() { "$KRONORM" info "$1" --json 2>/dev/null | awk '/"lml":/ { printf "%.6f", $2 }'; }
remember() { printf '# %-45s %-8s %s\n' "$1" "$2" "$3" >>"$logs/table"; }

# A table and what becomes of it:
#   read     the fit has the likelihood of the clean tables (a sentence says so where one is given)
#   warned   the fit succeeds, and a warning has these words
#   told     the fit succeeds, and a line that is no warning has these words
#   refused  it fails with this sentence
messy() { # what is messy, verdict, words, arguments ...
    what=$1 verdict=$2 words=$3
    shift 3
    rm -f m.safetensors*
    kronorm fit -o m.safetensors --seed 1 --restarts 0 --folds 2 "$@"
    remember "$what" "$verdict" "$(grep -F -e "${words:-kronorm}" "$logs/err" | head -n 1 | sed 's/^kronorm[a-z ]*: //' | cut -c 1-150)"
    if [ -n "$words" ] && ! grep -qF -e "$words" "$logs/err"; then
        not_ok "$what" "nothing says $words"
    elif [ "$verdict" = refused ]; then
        if [ $code -ne 0 ]; then ok "$what"; else not_ok "$what" "it is read"; fi
    elif [ $code -ne 0 ]; then
        not_ok "$what" "it is refused"
    elif [ "$verdict" = read ] && [ "$(lml m.safetensors)" != "$clean" ]; then
        not_ok "$what" "it is not the clean table: $(lml m.safetensors) and $clean"
    elif [ "$verdict" = warned ] && ! grep -F -e "$words" "$logs/err" | grep -q warning; then
        not_ok "$what" "no warning says $words"
    else
        ok "$what"
    fi
}

awk 'function u() { x = (x * 16807) % 2147483647; return x / 2147483647 }
    BEGIN {
        x = 3
        print "participant_id,age,sex,site" >"people.csv"
        print "participant_id,lh_a,lh_b,rh_a" >"y.csv"
        for (i = 1; i <= 40; i++) {
            age = 20 + 50 * u(); e = u()
            printf "%03d,%.1f,%s,%s\n", i, age, u() < 0.5 ? "Female" : "Male", i % 3 ? "Ulm" : "Bonn" >"people.csv"
            printf "%03d,%.4f,%.4f,%.4f\n", i, 3 - 0.01 * age + 0.1 * e + 0.05 * u(), 2.5 - 0.005 * age + 0.1 * e + 0.05 * u(),
                3.1 - 0.012 * age + 0.1 * e + 0.05 * u() >"y.csv"
        }
    }'
works "the clean tables" fit -c people.csv -y y.csv -o clean.safetensors --seed 1 --restarts 0 --folds 2
clean=$(lml clean.safetensors)
check "... have a likelihood" test -n "$clean"
change() { awk -F, -v OFS=, "$1" people.csv; } # awk program for people.csv
change_y() { awk -F, -v OFS=, "$1" y.csv; }

# ---- separators, decimal commas, spreadsheets
tr ',.' ';,' <people.csv >european.csv
messy "decimal commas with semicolons" read "european.csv: the numbers have decimal commas" -c european.csv -y y.csv
tr ',.' '\t,' <people.csv >european.tsv
messy "decimal commas with tabs" read "european.tsv: the numbers have decimal commas" -c european.tsv -y y.csv
tr ',.' ';,' <y.csv >european_y.csv
messy "decimal commas of responses" read "european_y.csv: the numbers have decimal commas" -c people.csv -y european_y.csv
change 'NR > 1 { sub(/\./, ",", $2); $2 = "\"" $2 "\"" } 1' >quoted.csv
messy "quoted decimal commas with commas" refused "which has a decimal comma; save the table with decimal points" -c quoted.csv -y y.csv
awk -F, -v OFS=';' 'NR % 2 == 0 { sub(/\./, ",", $2) } { $1 = $1 } 1' people.csv >mixed.csv
messy "decimal commas and points" refused "which has a decimal comma; save the table with decimal points" -c mixed.csv -y y.csv
{ echo "sep=;" && tr ',.' ';,' <people.csv; } >sep.csv
messy "a first line sep=;" read "sep.csv: the fields are separated by semicolons" -c sep.csv -y y.csv
{ printf '\357\273\277' && sed 's/$/\r/' people.csv; } >windows.csv
messy "CRLF and a byte order mark" read "" -c windows.csv -y y.csv
{ cat people.csv && printf ',,,\n,,,\n\n'; } >rows.csv
messy "empty rows at the end" read "" -c rows.csv -y y.csv
sed 's/$/,,/' people.csv >columns.csv
messy "empty columns at the end" read "" -c columns.csv -y y.csv
sed '2,$s/$/,,/' people.csv >wider.csv
messy "empty columns that the header lacks" read "" -c wider.csv -y y.csv
sed '5s/$/,x/' people.csv >ragged.csv
messy "a field too many" refused "ragged.csv line 5 has 5 fields, but the header has 4" -c ragged.csv -y y.csv
printf 'PK\003\004\024\000\006\000' >book.csv
messy "a workbook called .csv" refused "book.csv is a spreadsheet workbook, not a text file; save the sheet as CSV" -c book.csv -y y.csv
cp book.csv book.xlsx
messy "a workbook" refused "book.xlsx cannot be a table, because its name does not end in .csv or .tsv; use one of these formats" -c book.xlsx -y y.csv
awk '{ gsub(/./, "&@"); print }' people.csv | tr '@' '\000' >wide_text.csv
messy "UTF-16" refused "save UTF-16 as UTF-8" -c wide_text.csv -y y.csv
tr ',' ' ' <people.csv >spaces.csv
messy "spaces between fields" refused "category participant_id age sex site has at least 9 levels in 40 rows" -c spaces.csv -y y.csv

# ---- missing cells
for word in '#N/A' . NULL n/a ''; do
    change "NR == 6 { \$2 = \"$word\" } 1" >gap.csv
    messy "a missing age: '$word'" refused "gap.csv line 6: age is '$word', a missing value; use --missing drop to exclude such participants, or --missing mean to impute" \
        -c gap.csv -y y.csv
done
change 'NR == 6 { $2 = "unknown" } 1' >unknown.csv
messy "a missing age: 'unknown'" refused "unknown.csv line 6: age is 'unknown', but most rows contain a number; if it means a missing value, name it in --na" \
    -c unknown.csv -y y.csv
messy "... named in --na" warned "rows that lack a covariate are excluded, 1 of 40" -c unknown.csv -y y.csv --na unknown --missing drop
change 'NR == 6 { $2 = -999 } 1' >code.csv
messy "an age of -999" warned "code.csv: 1 number is far from all others; correct errors, and name codes for missing values in --na: line 6 age is -999" \
    -c code.csv -y y.csv
messy "... named in --na" warned "rows that lack a covariate are excluded, 1 of 40" -c code.csv -y y.csv --na -999 --missing drop
change_y 'NR == 6 { $2 = "-9" } 1' >code_y.csv
messy "a response of -9" warned "code_y.csv: 1 value is far beyond all others and is treated as missing (--outliers): 005 lh_a is -9" \
    -c people.csv -y code_y.csv
change_y 'NR == 6 { $2 = "failed" } 1' >text_y.csv
messy "text among responses" refused "text_y.csv line 6: lh_a is 'failed', but must be a number" -c people.csv -y text_y.csv

# ---- ids
change 'NR > 1 { $1 = $1 + 0 } 1' >zeros.csv
messy "ids without leading zeros" read "warning: y.csv: 40 IDs equal those of zeros.csv except for leading zeros, prefixes, case or spaces, and are matched: 001 as 1, 010 as 10, " \
    -c zeros.csv -y y.csv
change 'NR > 1 { $1 = "sub-" $1 } 1' >prefix.csv
messy "ids with sub-" read "40 IDs equal those of prefix.csv except for leading zeros, prefixes, case or spaces" -c prefix.csv -y y.csv
change 'NR > 1 { $1 = "Sub-" $1 " " } 1' >spaced.csv
messy "ids with capitals and spaces" read "40 IDs equal those of spaced.csv except for leading zeros, prefixes, case or spaces" -c spaced.csv -y y.csv
change 'NR == 2 { $1 = "1" } NR == 3 { $1 = "01" } 1' >twice.csv
messy "ids that could be the same" refused "twice.csv: 2 IDs are not in y.csv: 1, 01, and 2 the other way round" -c twice.csv -y y.csv
for name in "Subject ID" eid src_subject_id record_id; do
    sed "1s/participant_id/$name/" people.csv >named.csv
    messy "ids in '$name'" read "the IDs of named.csv are in $name, those of y.csv in participant_id" -c named.csv -y y.csv
done
sed '1s/participant_id/code/; 2,$s/^/p/' people.csv >unnamed.csv
messy "ids in a column of another name" warned "warning: unnamed.csv has no column with a usual name of an ID, but code is different in every row; if it contains the IDs, use --id code" \
    -c unnamed.csv -y y.csv
change 'NR == 4 { $1 = "002" } 1' >doubled.csv
messy "a doubled id" refused "doubled.csv: 1 ID occurs more than once" -c doubled.csv -y y.csv
sed 5d people.csv >fewer.csv
messy "a participant too few" refused "y.csv: 1 ID is not in fewer.csv: 004; use --match common to use only the IDs that are in both" -c fewer.csv -y y.csv

# ---- columns
change 'NR == 1 { print $0, "asd"; next } { print $0, NR % 2 }' >asd.csv
messy "a diagnosis under another name" read "asd.csv: the covariates are age, sex, site; not used: asd (to use them: --use age,sex,site,...)" \
    -c asd.csv -y y.csv
change 'NR == 1 { $4 = "acquisitionSite" } NR > 1 { $4 = $4 == "Ulm" ? 7 : 3 } 1' >numbers.csv
messy "a site in numbers" read "acquisitionSite (batch, 2 levels: 3, 7)" -c numbers.csv -y y.csv
change 'NR > 1 { $3 = NR == 9 ? 0 : $3 == "Male" ? 1 : 2 } 1' >sex.csv
messy "sex as 0, 1, 2" told "sex.csv: sex has 3 different whole numbers and is treated as a category" -c sex.csv -y y.csv
change 'NR == 9 { $3 = "female" } 1' >case.csv
messy "Female and female" warned "some levels of sex differ only in case and are treated as different; correct them if they are the same: Female and female" -c case.csv -y y.csv
change 'NR > 1 { $4 = "s" NR % 20 } 1' >many.csv
messy "a site of 20 levels in 40 rows" refused "category site has at least 9 levels in 40 rows" -c many.csv -y y.csv
sed '1s/sex/age/' people.csv >same.csv
messy "two columns of one name" refused "same.csv line 1: columns 2 and 3 are both named 'age'; rename one of them" -c same.csv -y y.csv
cut -d, -f1 people.csv >ids.csv
messy "no covariates" refused "ids.csv has no column left for a covariate" -c ids.csv -y y.csv

cat "$logs/table"
awk '{ n++ } /^# .* read / { read++ } / refused / { refused++ } END { printf "# %d tables: %d read, %d refused, %d with a warning or a line, silent: 0\n", n, read, refused, n - read - refused }' "$logs/table"
done_testing
