#!/bin/sh
# Tables of FreeSurfer as they are: the output of aparcstats2table and asegstats2table, several of them, and folders
# of recon-all. Each is read as the same numbers in one CSV file, or refused with a sentence.
. "$(dirname "$0")/lib.sh"

fit() { kronorm fit --seed 1 --restarts 0 --folds 2 -o m.safetensors --force "$@"; }
says() { # promise, words that the last command printed
    if grep -qF -e "$2" "$logs/out" "$logs/err"; then ok "$1"; else not_ok "$1" "nothing says $2"; fi
}
refused() { # promise, words, arguments of fit ...
    promise=$1 words=$2
    shift 2
    fit "$@"
    if [ $code -ne 0 ] && grep -qF -e "$words" "$logs/err"; then ok "$promise"; else not_ok "$promise" "expected: $words"; fi
}
# The z-scores of a fit with these responses are those of the same numbers in one CSV file, byte for byte.
same_z() { # promise, folder to compare with, arguments of fit and score ...
    promise=$1 expected=$2
    shift 2
    rm -rf scored
    fit "$@"
    [ $code -eq 0 ] && kronorm score m.safetensors "$@" -o scored
    if [ $code -ne 0 ]; then
        not_ok "$promise" "it is refused"
    elif cmp scored/z.csv "$expected/z.csv" >"$logs/check" 2>&1; then
        ok "$promise"
    else
        not_ok "$promise" "$(cat "$logs/check")"
    fi
}

# 40 participants; the layouts of FreeSurfer 6 and 7: whole-brain columns behind the regions of each hemisphere
awk 'function u() { x = (x * 16807) % 2147483647; return x / 2147483647 }
    function head(hemi, file, tiv) {
        printf "%s.aparc.thickness\t%s_bankssts_thickness\t%s_cuneus_thickness\t%s_MeanThickness_thickness%s\n", hemi, hemi,
            hemi, hemi, tiv ? "\tBrainSegVolNotVent\teTIV" : "" >file
    }
    BEGIN {
        x = 3
        print "participant_id\tage\tsex" >"people.tsv"
        print "participant_id,lh_bankssts_thickness,lh_cuneus_thickness,lh_MeanThickness_thickness,rh_bankssts_thickness," \
            "rh_cuneus_thickness,rh_MeanThickness_thickness" >"cortex.csv"
        print "Measure:volume\tLeft-Lateral-Ventricle\tLeft-Hippocampus\tRight-Hippocampus\tEstimatedTotalIntraCranialVol" >"aseg.txt"
        print "participant_id,Left-Lateral-Ventricle,Left-Hippocampus,Right-Hippocampus,EstimatedTotalIntraCranialVol" >"aseg.csv"
        head("lh", "lh.txt", 1); head("rh", "rh.txt", 1); head("lh", "lh5.txt", 0); head("rh", "rh5.txt", 0)
        for (i = 1; i <= 40; i++) {
            id = sprintf("sub-%02d", i); age = 20 + 50 * u(); e = u(); sex = u() < 0.5 ? "F" : "M"
            printf "%s\t%.1f\t%s\n", id, age, sex >"people.tsv"
            for (k = 1; k <= 6; k++)
                y[k] = sprintf("%.3f", 3 - (0.006 + k / 1000) * age + 0.1 * e + 0.05 * u())
            tail = sprintf("\t%.1f\t%.6f", 1000000 + 100000 * e, 1400000 + 200000 * u())
            l = id "\t" y[1] "\t" y[2] "\t" y[3]; r = id "\t" y[4] "\t" y[5] "\t" y[6]
            print l tail >"lh.txt"; print l >"lh5.txt"; print r >"rh5.txt"
            right[i] = r tail
            printf "%s,%s,%s,%s,%s,%s,%s\n", id, y[1], y[2], y[3], y[4], y[5], y[6] >"cortex.csv"
            v = sprintf("%.1f\t%.1f\t%.1f\t%.6f", 7000 + 90 * age + 500 * u(), 4500 - 12 * age + 100 * u(),
                4600 - 11 * age + 100 * u(), 1400000 + 200000 * u())
            print id "\t" v >"aseg.txt"; gsub(/\t/, ",", v); print id "," v >"aseg.csv"
        }
        for (i = 40; i > 0; i--) # another order of rows
            print right[i] >"rh.txt"
    }'
paste -d , cortex.csv aseg.csv | cut -d , -f 1-7,9- >all.csv
# ---- tables
for y in cortex aseg all; do
    fit -c people.tsv -y $y.csv
    kronorm score m.safetensors -c people.tsv -y $y.csv -o "$y"
done
data="-c people.tsv -y"
same_z "a table of aparcstats2table of FreeSurfer 5, and the other hemisphere" cortex $data lh5.txt,rh5.txt
same_z "tables of FreeSurfer 6 and 7, with another order of rows" cortex $data lh.txt,rh.txt
fit $data lh.txt,rh.txt
says "... whole-brain columns are kept once" "lh.txt,rh.txt: in several tables with the same values, kept once: BrainSegVolNotVent, eTIV"
says "... and are no responses" "whole-brain measures beside regions, so not responses unless --targets names them: BrainSegVolNotVent, eTIV"
refused "a covariate that only the tables of responses have" "people.tsv: no column 'eTIV', named in --use; lh.txt,rh.txt has it, so copy the column by ID to the table of the covariates" $data lh.txt,rh.txt --use age,sex,eTIV
awk -F '\t' 'NR == FNR { tiv[$1] = $6; next } { print $0 "\t" (FNR == 1 ? "eTIV" : tiv[$1]) }' lh.txt people.tsv >tiv.tsv
works "... which the table of covariates then has" fit -c tiv.tsv -y lh.txt,rh.txt --use age,sex,eTIV --restarts 0 --folds 2 -o m.safetensors --force
same_z "asegstats2table" aseg $data aseg.txt
same_z "all three" all $data lh.txt,rh.txt,aseg.txt
tr '\t' , <lh.txt >lh.csv && tr '\t' ' ' <rh.txt >rh.table
same_z "commas and spaces" cortex $data lh.csv,rh.table
cut -d , -f 1-4 cortex.csv >left.csv && cut -d , -f 1,5- cortex.csv | sed 's/^sub-0*//; s/^participant_id/subject/' >right.csv
same_z "tables that are not of FreeSurfer, with other spellings of the IDs" cortex $data left.csv,right.csv

# ---- gaps
sed '/^sub-07/d' rh.txt >rh_skip.txt
refused "a participant without one hemisphere" "rh_skip.txt: 1 ID of the other tables is not in it: sub-07; use --match common to keep the IDs in all tables" $data lh.txt,rh_skip.txt
grep -v '^sub-07' people.tsv >without.tsv && grep -v '^sub-07' cortex.csv >without.csv
fit -c without.tsv -y without.csv && kronorm score m.safetensors -c without.tsv -y without.csv -o without
same_z "... is left out with --match common" without $data lh.txt,rh_skip.txt --match common
check "... and scored_participants.tsv says so" grep -q "^sub-07.*not in each table of responses" scored/scored_participants.tsv
fit $data lh.txt,rh_skip.txt --match common
says "fit says what it understood" "  Participants  39 of 40 rows of people.tsv; age 20"
says "... which columns have the IDs" "  IDs           participant_id of people.tsv, lh.aparc.thickness of lh.txt, rh_skip.txt"
says "... which covariates there are" "  Covariates    age (number), sex (category, 2 levels)"
says "... which responses" "  Responses     6 of lh.txt, rh_skip.txt: lh_bankssts_thickness, lh_cuneus_thickness,"
says "... and what is left out" "  Left out      1 (not in each table of responses)"
kronorm info m.safetensors
says "info says it later" "Left out      1 (not in each table of responses)"
rm -f dry.safetensors
kronorm fit $data lh.txt,rh_skip.txt --match common --dry-run
says "--dry-run says it" "  Left out      1 (not in each table of responses)"
check "... and writes nothing" sh -c '! ls | grep -q dry'
kronorm fit $data lh.txt,rh_skip.txt --match common --dry-run -o dry.safetensors
check "... with --output either" sh -c '! ls | grep -q dry'
same_z "... and is no gap if --where does not select it" without $data lh.txt,rh_skip.txt --where participant_id!=sub-07
sed 's/^\(sub-05\t\)[0-9.]*/\1-1/; s/^\(sub-06\t[0-9.]*\t\)[0-9.]*/\10/' lh.txt >lh_failed.txt
sed 's/^\(sub-05,\)[0-9.]*/\1/; s/^\(sub-06,[0-9.]*,\)[0-9.]*/\10/' cortex.csv >failed.csv
fit -c people.tsv -y failed.csv && kronorm score m.safetensors -c people.tsv -y failed.csv -o failed
same_z "-1 is missing, 0 a value" failed $data lh_failed.txt,rh.txt
fit $data lh_failed.txt,rh.txt
says "... of -1 a warning tells" "warning: lh_failed.txt: 1 value is -1, which is treated as missing: sub-05 lh_bankssts_thickness"
says "... and of 0" "warning: lh_failed.txt: 1 value is 0, which a failed segmentation may have left; if so, empty the cell: sub-06 lh_cuneus_thickness"

# ---- wrong ones
sed 's/1[0-9]*\.[0-9]*$/9/' rh.txt >rh_tiv.txt
refused "other values of a repeated column" " on line 2 of lh.txt; rename or remove the column in one of the tables" $data lh.txt,rh_tiv.txt
printf 'lh.aparc.thickness\tsub-01\tsub-02\nlh_bankssts_thickness\t2.1\t2.2\n' >turned.txt
refused "a transposed table" "turned.txt line 2: lh_bankssts_thickness is a region, but must be an ID; make the table with one row per participant" $data turned.txt
refused "a table and an image" "--responses: mask.nii is no table, but other files of the list are; give only tables (.csv, .tsv, or .txt of FreeSurfer) or only images" $data lh.txt,mask.nii
{ cat lh.txt && sed -n 2p lh.txt; } >lh_twice.txt
refused "an ID twice" "lh_twice.txt: the ID sub-01 occurs more than once; several tables are joined by ID, so give each session its own ID or one table in --responses" $data lh_twice.txt,rh.txt
cut -d , -f 2-4 cortex.csv >anonymous.csv
refused "a table without IDs" "anonymous.csv has no ID column, which joining several tables needs; name it in --id" $data anonymous.csv,rh.txt
sed 's/^\(sub-03\t\)[0-9.]*/\1x/' rh.txt >rh_text.txt
refused "text where a number is expected, with the line of its file" "rh_text.txt line 39: rh_bankssts_thickness is 'x', but must be a number" $data lh.txt,rh_text.txt
# ---- a SUBJECTS_DIR as recon-all leaves it; FreeSurfer 5 has no whole-brain measures in lh.aparc.stats
mkdir -p study/derivatives && cp people.tsv study/participants.tsv
awk -F, 'NR > 1 {
    id = $1; stats = "study/derivatives/fs/" id "/stats"
    system("mkdir -p " stats)
    for (h = 0; h < 2; h++) {
        file = stats "/" (h ? "rh" : "lh") ".aparc.stats"
        print "# Table of FreeSurfer cortical parcellation anatomical statistics\n# subjectname " id >file
        print "# Measure Cortex, NumVert, Number of Vertices, 120000, unitless" >file
        print "# Measure Cortex, MeanThickness, Mean Thickness, " $(4 + 3 * h) ", mm" >file
        if (NR % 2)
            print "# Measure BrainSegNotVent, BrainSegVolNotVent, Brain Segmentation Volume Without Ventricles, 1000000.5, mm^3\n" \
                "# Measure EstimatedTotalIntraCranialVol, eTIV, Estimated Total Intracranial Volume, 1500000.5, mm^3" >file
        print "# NTableCols 10\n# ColHeaders StructName NumVert SurfArea GrayVol ThickAvg ThickStd MeanCurv GausCurv FoldInd CurvInd" >file
        printf "%-40s 1000 700 1800  %s 0.500 0.110 0.020 11 0.9\n", "bankssts", $(2 + 3 * h) >file
        printf "%-40s 2000 1400 2900  %s 0.600 0.130 0.030 22 1.9\n", "cuneus", $(3 + 3 * h) >file
        close(file)
    }
}' cortex.csv
awk -F, 'NR > 1 {
    file = "study/derivatives/fs/" $1 "/stats/aseg.stats"
    print "# Measure EstimatedTotalIntraCranialVol, eTIV, Estimated Total Intracranial Volume, " $5 ", mm^3" >file
    print "# ColHeaders  Index SegId NVoxels Volume_mm3 StructName normMean normStdDev normMin normMax normRange" >file
    print "  1   4      9000     " $2 "  Left-Lateral-Ventricle  35.5 12.5 9 90 81" >file
    print "  2  17      4500     " $3 "  Left-Hippocampus  75.5 8.5 30 110 80" >file
    print "  3  53      4600     " $4 "  Right-Hippocampus  76.5 8.5 30 110 80" >file
    close(file)
}' aseg.csv
mkdir -p study/derivatives/fs/fsaverage/stats study/derivatives/fs/logs
fs=study/derivatives/fs
same_z "lh and rh of aparc.stats; participants.tsv is found above" cortex -y $fs --measure thickness
fit -y $fs --measure thickness
says "... which a line says" "covariates: study/participants.tsv"
same_z "aseg.stats" aseg -c people.tsv -y $fs --measure volume --atlas aseg
awk 'NR == 1 { print "lh_bankssts_volume,lh_cuneus_volume,rh_bankssts_volume,rh_cuneus_volume"; next } { print "1800,2900,1800,2900" }' \
    cortex.csv | paste -d , cortex.csv - aseg.csv | cut -d , -f 1-11,13- >volumes.csv
fit -c people.tsv -y volumes.csv --targets '*_thickness,*_volume,Left-*,Right-*,Est*'
kronorm score m.safetensors -c people.tsv -y volumes.csv -o volumes
fit -y $fs --measure thickness,volume --atlas aparc,aseg --targets '*_thickness,*_volume,Left-*,Right-*,Est*'
rm -rf scored && kronorm score m.safetensors -y $fs --measure thickness,volume --atlas aparc,aseg -o scored
check "several measures and atlases: the values of each table" cmp scored/z.csv volumes/z.csv
same_z "a pattern of folders" cortex -c people.tsv -y "$fs/sub-*" --measure thickness
# the same as long tables, one per participant, as they are made of .stats files
mkdir long
for stats in $fs/sub-*/stats; do
    id=${stats#"$fs"/} && id=${id%/stats}
    awk -v OFS='\t' 'BEGIN { print "atlas", "hemisphere", "StructName", "NumVert", "ThickAvg" }
        !/^#/ { hemi = FILENAME ~ /lh\./ ? "lh" : "rh"; print "aparc", hemi, $1, $2, $5; print "other", hemi, $1, $2, 1 }
        ' "$stats/lh.aparc.stats" "$stats/rh.aparc.stats" >"long/${id}_surfacestats.tsv"
done
cut -d , -f 1-3,5-6 cortex.csv >regions.csv
fit -c people.tsv -y regions.csv && kronorm score m.safetensors -c people.tsv -y regions.csv -o regions
same_z "long tables, one per participant" regions -c people.tsv -y 'long/*_surfacestats.tsv' --measure thickness
awk -v OFS='\t' 'FNR == 1 && NR > 1 { next } { id = FILENAME; sub(/.*\//, "", id); sub(/_.*/, "", id); print NR == 1 ? "subject_id" : id, $0 }' \
    long/*.tsv >all_surfacestats.tsv
same_z "one long table" regions -c people.tsv -y all_surfacestats.tsv --measure thickness
cp all_surfacestats.tsv 'x[1]_surfacestats.tsv'
same_z "... with brackets in its name" regions -c people.tsv -y 'x[1]_surfacestats.tsv' --measure thickness
refused "a long table without --measure" "--responses: all_surfacestats.tsv is a long table of regions; say what to read, such as --measure thickness --atlas aparc" $data all_surfacestats.tsv
refused "an atlas that it does not have" "all_surfacestats.tsv: no row has the hemisphere lh and the atlas none (named in --atlas)" $data all_surfacestats.tsv --measure thickness --atlas none
{ cat all_surfacestats.tsv && tail -n 2 all_surfacestats.tsv; } >twice_surfacestats.tsv
refused "a region twice" "twice_surfacestats.tsv line 322: cuneus of sub-40 occurs a second time; it must have one row per atlas" $data twice_surfacestats.tsv --measure thickness

mkdir -p apart/a/beside/raw && cp people.tsv apart/a/beside/raw/participants.tsv && cp -r $fs apart/a/beside/fs
same_z "participants.tsv is found beside" cortex -y apart/a/beside/fs --measure thickness
mkdir 'up[1]' && cp -r apart/a/beside 'up[1]'
same_z "... in a folder with brackets in its name" cortex -y 'up[1]/beside/fs' --measure thickness
mv 'up[1]/beside' up
tail -n 1 up/fs/sub-03/stats/lh.aparc.stats >>up/fs/sub-03/stats/lh.aparc.stats
refused "a region twice in a .stats file" "up/fs/sub-03/stats/lh.aparc.stats: lh_cuneus_thickness occurs a second time; it must have one value" $data up/fs --measure thickness
sed -i 's/EstimatedTotalIntraCranialVol, eTIV/Left-Lateral-Ventricle, Left-Lateral-Ventricle/' up/fs/sub-03/stats/aseg.stats
refused "a region with the name of a measure" "up/fs/sub-03/stats/aseg.stats: Left-Lateral-Ventricle occurs a second time; it must have one value" $data up/fs --measure volume --atlas aseg
cp $fs/sub-03/stats/*.stats up/fs/sub-03/stats
rm up/fs/sub-0[1-6]/stats/rh.aparc.stats
fit $data up/fs --measure thickness --match common
says "six folders without a file, of which five are named" "6 of 40 folders have no stats/rh.aparc.stats: sub-01, sub-02, sub-03, sub-04, sub-05, ..."
rm up/fs/*/stats/rh.aparc.stats
refused "folders without one hemisphere" "up/fs: no folder has stats/rh.aparc.stats" $data up/fs --measure thickness
mv up/fs/sub-01 "$(printf 'up/fs/a\nsub-02\t1\t2')"
refused "a folder with a line break in its name" "has a control character or a double quote; rename it" $data up/fs --measure volume --atlas aseg
rm apart/a/beside/fs/sub-07/stats/rh.aparc.stats
refused "a folder without one hemisphere" "apart/a/beside/fs/stats/rh.aparc.stats: 1 ID of the other tables is not in it: sub-07; use --match common to keep the IDs in all tables" -y apart/a/beside/fs --measure thickness
same_z "... is left out with --match common" without -y apart/a/beside/fs --measure thickness --match common
refused "a folder without --measure" "--responses: study/derivatives/fs is a folder of FreeSurfer's recon-all; say what to read, such as --measure thickness --atlas aparc" -y $fs
refused "an unknown measure" "'width' is no measure of aparc; expected area, volume, thickness," -y $fs --measure thickness,width
refused "an unknown atlas" "apart/a/beside/fs: no folder has stats/lh.aparc.DKT.stats or stats/aparc.DKT.stats (named in --atlas); sub-01 has aseg, aparc" -c people.tsv -y apart/a/beside/fs --measure thickness --atlas aparc.DKT
refused "--measure for a table" "--measure is for a SUBJECTS_DIR of FreeSurfer, but cortex.csv is none" $data cortex.csv --measure thickness
mkdir apart/a/beside/other && cp people.tsv apart/a/beside/other/participants.tsv
refused "several participants.tsv beside" "is needed, because several folders have participants.tsv: " -y apart/a/beside/fs --measure thickness
rm apart/a/beside/*/participants.tsv
refused "a folder that does not exist" "nowhere cannot be opened: no such folder" -y nowhere --measure thickness
refused "no participants.tsv" "--covariates is needed: there is no participants.tsv in apart/a/beside/fs, in the folders above it or beside it" -y apart/a/beside/fs --measure thickness
sed 's/^cuneus .*/cuneus 2000 1400 2900 x 0.6 0.1 0.1 22 1/' $fs/sub-05/stats/lh.aparc.stats >apart/a/beside/fs/sub-05/stats/lh.aparc.stats
refused "text in a .stats file" "apart/a/beside/fs/sub-05/stats/lh.aparc.stats line 8: ThickAvg of cuneus is 'x', but must be a number" $data apart/a/beside/fs --measure thickness
echo nothing >apart/a/beside/fs/sub-05/stats/lh.aparc.stats
refused "another text" "a row before '# ColHeaders', expected a .stats file of recon-all" $data apart/a/beside/fs --measure thickness
mv apart/a/beside/fs/sub-05 apart/a/beside/fs/sub-05.long.sub-05
refused "longitudinal folders beside others" "apart/a/beside/fs: 1 of 40 folders are longitudinal (.long.), the others are cross-sectional or templates; name one kind by a pattern such as 'apart/a/beside/fs/*.long.*'" $data apart/a/beside/fs --measure thickness
for i in $fs/sub-*; do mv "$i" "${i}_ses-1"; done
same_z "folders of the only session of each participant" cortex -y $fs --measure thickness
cp -r $fs/sub-03_ses-1 $fs/sub-03_ses-2
refused "several sessions" "if these are sessions of one participant, use --session" -y $fs --measure thickness
same_z "... of which --session first keeps one" cortex -y $fs --measure thickness --session first
done_testing
