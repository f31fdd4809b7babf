#!/bin/sh
# A study of several sites and visits, in images and in a table: what simulate writes fits and scores.
. "$(dirname "$0")/lib.sh"

columns() { head -n 1 "$1" | tr '\t' ' '; }
rows() { echo $(($(wc -l <"$1") - 1)); }

works "a study of sites, visits and regions" simulate --samples 60 --patients 8 --sites 3 --visits 2 --regions 30 --strength 4 \
    -o study
check "... says what there is" test "$(grep -cE 'adapt_|visits_|regions' "$logs/out")" -eq 3
check "... has these files" test "$(ls study | tr '\n' ' ')" = "adapt_images.txt adapt_participants.json adapt_participants.tsv adapt_regions.csv images \
images.txt mask.nii.gz new_images.txt new_participants.json new_participants.tsv new_regions.csv participants.json participants.tsv regions.csv regions.nii.gz \
test_images.txt test_participants.json test_participants.tsv test_regions.csv train_images.txt train_participants.json train_participants.tsv train_regions.csv truth \
visits_images.txt visits_participants.json visits_participants.tsv visits_regions.csv "
check "... and the truth" test "$(ls study/truth | tr '\n' ' ')" = \
    "lesion.nii.gz patients.json patients.tsv site_offsets.nii.gz sites.json sites.tsv truth.json visits.json visits.tsv "
check "participants have these columns" test "$(columns study/participants.tsv)" = "participant_id age sex site group"
check "... controls to adapt on no group" test "$(columns study/adapt_participants.tsv)" = "participant_id age sex site"
check "... visits a session" test "$(columns study/visits_participants.tsv)" = "participant_id session age sex site group"
check "... truth its own" test "$(columns study/truth/sites.tsv), $(columns study/truth/visits.tsv)" = \
    "site in_training noise_factor offset_rms_sd age_min age_max, participant_id session years lesion_sd"
check "there are so many of each" test "$(for part in '' train_ test_ adapt_ new_ visits_; do
    rows study/${part}participants.tsv; done | tr '\n' ' ')" = "116 48 20 20 28 40 "
check "... in the tables of regions too" test "$(for part in '' train_ test_ adapt_ new_ visits_; do
    rows study/${part}regions.csv; done | tr '\n' ' ')" = "116 48 20 20 28 40 "
check "people are in one part" test "$(cut -f 1 study/train_participants.tsv study/test_participants.tsv \
    study/adapt_participants.tsv study/new_participants.tsv | grep -c sub-)" -eq 116
check "the new site is not in training" test "$(cut -f 4 study/train_participants.tsv | sort -u | tr '\n' ' ')" = \
    "site site-1 site-2 site-3 "
check "... and the only one of the others" test \
    "$(cut -f 4 study/adapt_participants.tsv study/new_participants.tsv | sort -u | tr '\n' ' ')" = "site site-4 "
check "the first visit is the image of the study" cmp "study/images/$(sed -n '2s/	.*//p' study/test_participants.tsv).nii.gz" \
    "study/images/$(sed -n '2s/	.*//p' study/test_participants.tsv)_ses-1.nii.gz"

works "regions fit" fit -c study/train_participants.tsv -y study/train_regions.csv -o regions.safetensors
works "... and score" score regions.safetensors -c study/test_participants.tsv -y study/test_regions.csv --cases group=patient -o scored
check "... region 1 is where patients are low" awk -F , 'NR == FNR { split($0, f, "\t"); ill[f[1]] = f[5] == "patient"; next }
    FNR > 1 { s[ill[$1]] += $2; n[ill[$1]]++ }
    END { exit !(n[0] == 12 && n[1] == 8 && s[1] / n[1] < -2 && s[0] / n[0] > -1) }' study/test_participants.tsv scored/z.csv
works "visits score" score regions.safetensors -c study/visits_participants.tsv -y study/visits_regions.csv --session session -o visits
check "... each by itself" test "$(rows visits/scored_participants.tsv)" -eq 40
works "images fit" fit -c study/train_participants.tsv -y study/train_images.txt -m study/mask.nii.gz -o images.safetensors
works "... visits of them score" score images.safetensors -c study/visits_participants.tsv -y study/visits_images.txt \
    --session session -o visit_maps
check "... each by itself" test "$(rows visit_maps/scored_participants.tsv)" -eq 40
works "... or the first of everybody" score images.safetensors -c study/visits_participants.tsv -y study/visits_images.txt \
    --session first -o first_maps
works "... and the study's own" score images.safetensors -c study/test_participants.tsv -y study/test_images.txt -o maps
check "... which are the same" cmp first_maps/z.nii.gz maps/z.nii.gz

misused "one site" " simulate: --sites is 1; it must be 2 to 50, or 0 (see 'kronorm simulate --help')" \
    simulate --sites 1 -o d
misused "eleven visits" " simulate: --visits is 11; it must be 2 to 10, or 0 (see 'kronorm simulate --help')" \
    simulate --visits 11 -o d
misused "decline without visits" \
    " simulate: --decline is a change between visits; give --visits too (see 'kronorm simulate --help')" simulate --decline 1 -o d
misused "sites of an experiment" \
    " simulate: --sites, --visits and --regions apply only to --kind cohort (see 'kronorm simulate --help')" \
    simulate --kind miyawaki --sites 3 -o d
misused "more sites than people" ": 30 healthy participants at 4 sites are too few; at least 10 per site are needed" simulate --samples 30 --sites 4 -o d
done_testing
