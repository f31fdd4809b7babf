#!/bin/sh
# Maps of the page on surfaces: tables of regions by labels, and what does not fit.
. "$(dirname "$0")/lib.sh"

make_tables
works "fit" fit -c regions.csv -y regions.csv --use age,sex,site --targets '?h_*' -o model.safetensors

array() { # intent, type, dimensions, numbers
    printf '<DataArray Intent="NIFTI_INTENT_%s" DataType="NIFTI_TYPE_%s" %s Encoding="ASCII" Endian="LittleEndian" ArrayIndexingOrder="RowMajorOrder"><Data>%s</Data></DataArray>' "$@"
}
gii() { # table of labels, arrays
    printf '<GIFTI Version="1.0"><LabelTable>%s</LabelTable>%s</GIFTI>' "$1" "$2"
}
gii '' "$(array POINTSET FLOAT32 'Dimensionality="2" Dim0="4" Dim1="3"' '-40 0 0 -30 10 0 -30 0 10 -20 -10 -10')$(array TRIANGLE INT32 'Dimensionality="2" Dim0="2" Dim1="3"' '0 1 2 1 2 3')" >lh.gii
gii '' "$(array POINTSET FLOAT32 'Dimensionality="2" Dim0="3" Dim1="3"' '40 0 0 30 10 0 30 0 10')$(array TRIANGLE INT32 'Dimensionality="2" Dim0="1" Dim1="3"' '0 1 2')" >rh.gii
label() { # file, vertices, numbers, names
    gii "$(n=0; for name in $4; do n=$((n + 1)); printf '<Label Key="%d">%s</Label>' $n "$name"; done)" \
        "$(array LABEL INT32 "Dimensionality=\"1\" Dim0=\"$2\"" "$3")" >"$1"
}
label lh.label.gii 4 '1 1 2 2' 'insula cuneus'
label rh.label.gii 3 '1 2 2' 'insula cuneus'

both="--surface lh.gii,rh.gii"
refused "labels of another atlas" \
    "lh.label.gii,rh.label.gii: no region is a response; regions have names such as 'cuneus', but responses such as 'lh_a'; use labels of the same atlas" \
    report model.safetensors $both --labels lh.label.gii,rh.label.gii -o page.html
refused "vertices of another surface" "lh.gii,rh.gii has 7 vertices in all, but the responses have 4 (a table of regions needs --labels)" \
    report model.safetensors $both -o page.html
refused "sides that are turned" "rh.gii is the right hemisphere, but --surface needs the left one first, then the right one" \
    report model.safetensors --surface rh.gii,lh.gii -o page.html
misused "labels without a surface" ": --labels also needs --surface, with the surfaces that it belongs to" \
    report model.safetensors --labels lh.label.gii,rh.label.gii -o page.html

sed '1s/h_a/h_insula_thickness/g; 1s/h_b/h_cuneus_thickness/g' regions.csv >atlas.csv
works "fit a table of regions" fit -c atlas.csv -y atlas.csv --use age,sex,site --targets '?h_*' -o atlas.safetensors
works "a page of it" report atlas.safetensors -o plain.html
check "... has bars of its regions" grep -q 'data-figure="regions-1"' plain.html
works "a page with surfaces" report atlas.safetensors $both --labels lh.label.gii,rh.label.gii -o page.html
check "... says what is seen" grep -q 'left hemisphere on the left' page.html
works "the same again" report atlas.safetensors $both --labels lh.label.gii,rh.label.gii -o again.html
check "... differs in its name alone" test "$(sed s/again.html/page.html/g again.html | cksum)" = "$(cksum <page.html)"
label rh.label.gii 3 '1 1 1' insula
works "a region that the labels lack" report atlas.safetensors $both --labels lh.label.gii,rh.label.gii -o less.html
check "... is counted" grep -q 'id="surface-note">1 of 4 responses has no region on the surface and is not drawn there: rh_cuneus_thickness\.<' less.html
cut -d, -f2- atlas.csv >nameless.csv
works "a table without ids" fit -c nameless.csv -y nameless.csv --use age,sex,site --targets '?h_*' -o nameless.safetensors
works "... whose model has no maps of people" report nameless.safetensors $both --labels lh.label.gii,rh.label.gii -o nameless.html
check "... has none in the page" sh -c '! grep -q "class=\"thumbs\"" nameless.html'
works "figures" report atlas.safetensors --figures figures
check "... have the numbers of the bars" grep -q '^s.*,insula,insula,insula,thickness,' figures/regions-1.csv
done_testing
