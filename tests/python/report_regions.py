"""Tables of regions on a surface, with names as they are met: Destrieux thickness of fcon1000 and Desikan-Killiany of IXI
and of ENIGMA against labels as FreeSurfer names them, and Schaefer's. The labels of Destrieux are those of fsaverage5; the
others are patches of it. Skipped where those data are not.

    report_regions.py KRONORM"""

import csv
import gzip
import json
import os
import shutil
import subprocess
import sys
import tempfile

import nibabel as nib
import numpy as np

kronorm = os.path.abspath(sys.argv[1])
data = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../../shared/data")
if not os.path.exists(f"{data}/fcon1000_thickness") or not os.path.exists(f"{data}/fsaverage5_surfaces"):
    print("skipped: fcon1000_thickness and fsaverage5_surfaces are not there")
    sys.exit(77)
failures = 0

DESTRIEUX = """Unknown G_and_S_frontomargin G_and_S_occipital_inf G_and_S_paracentral G_and_S_subcentral
G_and_S_transv_frontopol G_and_S_cingul-Ant G_and_S_cingul-Mid-Ant G_and_S_cingul-Mid-Post G_cingul-Post-dorsal
G_cingul-Post-ventral G_cuneus G_front_inf-Opercular G_front_inf-Orbital G_front_inf-Triangul G_front_middle G_front_sup
G_Ins_lg_and_S_cent_ins G_insular_short G_occipital_middle G_occipital_sup G_oc-temp_lat-fusifor G_oc-temp_med-Lingual
G_oc-temp_med-Parahip G_orbital G_pariet_inf-Angular G_pariet_inf-Supramar G_parietal_sup G_postcentral G_precentral
G_precuneus G_rectus G_subcallosal G_temp_sup-G_T_transv G_temp_sup-Lateral G_temp_sup-Plan_polar G_temp_sup-Plan_tempo
G_temporal_inf G_temporal_middle Lat_Fis-ant-Horizont Lat_Fis-ant-Vertical Lat_Fis-post Medial_wall Pole_occipital
Pole_temporal S_calcarine S_central S_cingul-Marginalis S_circular_insula_ant S_circular_insula_inf S_circular_insula_sup
S_collat_transv_ant S_collat_transv_post S_front_inf S_front_middle S_front_sup S_interm_prim-Jensen
S_intrapariet_and_P_trans S_oc_middle_and_Lunatus S_oc_sup_and_transversal S_occipital_ant S_oc-temp_lat
S_oc-temp_med_and_Lingual S_orbital_lateral S_orbital_med-olfact S_orbital-H_Shaped S_parieto_occipital S_pericallosal
S_postcentral S_precentral-inf-part S_precentral-sup-part S_suborbital S_subparietal S_temporal_inf S_temporal_sup
S_temporal_transverse""".split()
DESIKAN = """bankssts caudalanteriorcingulate caudalmiddlefrontal cuneus entorhinal fusiform inferiorparietal
inferiortemporal isthmuscingulate lateraloccipital lateralorbitofrontal lingual medialorbitofrontal middletemporal
parahippocampal paracentral parsopercularis parsorbitalis parstriangularis pericalcarine postcentral posteriorcingulate
precentral precuneus rostralanteriorcingulate rostralmiddlefrontal superiorfrontal superiorparietal superiortemporal
supramarginal frontalpole temporalpole transversetemporal insula""".split()
NETWORKS = [f"{n}_{i}" for n in ("Vis", "SomMot", "DorsAttn", "SalVentAttn", "Limbic", "Cont", "Default") for i in (1, 2, 3)]


def check(what, ok):
    global failures
    failures += not ok
    print(("ok   " if ok else "FAIL ") + what)


def run(*words):
    done = subprocess.run([kronorm, *words], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(words)}: {done.stderr}")
    return done.stdout


def header(path):
    with open(f"{data}/{path}") as f:
        return f.readline().strip().split(",")


def report(what, names, labels):
    """The page of a table with these names, numbers by chance."""
    random = np.random.default_rng(1)
    with open("table.csv", "w") as f:
        print("participant_id", "age_at_scan", *names, sep=",", file=f)
        for i in range(40):
            print(f"s{i}", random.uniform(20, 80), *random.normal(size=len(names)), sep=",", file=f)
    run("fit", "-c", "table.csv", "-y", "table.csv", "--use", "age_at_scan", "-q", "--force", "-o", "m.safetensors")
    words = ["report", "m.safetensors", "--surface", "lh.pial.gii,rh.pial.gii", "--labels", labels]
    run(*words, "--force", "-o", "page.html")
    with open("page.html") as f:
        page = f.read()
    space = json.loads(run(*words, "--json"))["space"]
    check(f"{what}: a picture", '<svg class="map"' in page)
    check(f"{what}: what is not drawn is stated", (space["surface_note"] is None) == ('id="surface-note"' not in page))
    return space


folder = tempfile.mkdtemp()
os.chdir(folder)
colours = np.arange(1, 77)[:, None] * [[3, 2, 1, 0, 0]]
with open(f"{data}/fsaverage5_thickness/vertices.csv") as f:
    codes = {hemi: [] for hemi in ("lh", "rh")}
    for row in csv.DictReader(f):
        codes[row["hemi"]].append(int(row["aparc_code"]) % 100 - 1)
for hemi, name in (("lh", "left"), ("rh", "right")):
    with gzip.open(f"{data}/fsaverage5_surfaces/pial_{name}.gii.gz") as f, open(f"{hemi}.pial.gii", "wb") as to:
        shutil.copyfileobj(f, to)
    code = np.array(codes[hemi])
    nib.freesurfer.write_annot(f"{hemi}.annot", code, colours, DESTRIEUX, fill_ctab=True)
    xyz = nib.load(f"{hemi}.pial.gii").darrays[0].data
    schaefer = [f"7Networks_{hemi[0].upper()}H_{n}" for n in NETWORKS]
    for atlas, regions in (("dk", DESIKAN), ("schaefer", schaefer)):
        centre = xyz[:: len(xyz) // len(regions)][: len(regions)]
        nearest = ((xyz[:, None] - centre) ** 2).sum(-1).argmin(1) + 1
        image = nib.GiftiImage(darrays=[nib.gifti.GiftiDataArray(np.where(code == 42, 0, nearest).astype("i4"),
                                                                 intent="NIFTI_INTENT_LABEL", datatype="NIFTI_TYPE_INT32")])
        for key, region in enumerate(["???", *regions]):
            label = nib.gifti.GiftiLabel(key, 0.1, 0.1, 0.1, 1)
            label.label = region
            image.labeltable.labels.append(label)
        nib.save(image, f"{hemi}.{atlas}.label.gii")

names = [n for n in header("fcon1000_thickness/fcon1000_tr.csv") if n.startswith(("lh_", "rh_"))]
space = report("fcon1000", names, "lh.annot,rh.annot")
check("fcon1000: Destrieux", space["atlas"] == "Destrieux" and space["unmatched"] == 2)
check("fcon1000: the two means are named", space["surface_note"] == "2 of 150 responses have no region on the surface and are "
      "not drawn there: lh_MeanThickness_thickness, rh_MeanThickness_thickness.")
names = [n for n in header("ixi_thickness/IXI_aparc_thickness.csv") if n != "participant_id"]
space = report("IXI", names, "lh.dk.label.gii,rh.dk.label.gii")
check("IXI: Desikan-Killiany, all but four", space["atlas"] == "Desikan-Killiany" and space["unmatched"] == len(names) - 68)
names = [n for n in header("enigma_tle_example/metr2_CortThick.csv") if n.startswith(("L_", "R_"))]
space = report("ENIGMA", names, "lh.dk.label.gii,rh.dk.label.gii")
check("ENIGMA: everything is drawn", space["unmatched"] == 0 and space["surface_note"] is None)
names = [f"7Networks_{side}H_{n}" for side in "LR" for n in NETWORKS]
space = report("Schaefer", names, "lh.schaefer.label.gii,rh.schaefer.label.gii")
check("Schaefer: everything is drawn", space["atlas"] == "Schaefer" and space["unmatched"] == 0)
shutil.rmtree(folder)
sys.exit(failures > 0)
