'use strict';
/* NiiVue on the map of a card. It lies packed in the page, is unpacked when somebody first asks for it, and runs
 * because the page's policy names its hash. It gets the same map as the slices (kronormViewer.nifti) or the pictures of
 * surfaces (kronormMeshes), so that one page cannot show two. Where it cannot run a sentence says so, and those remain. */
(() => {
  const HEIGHT = '26rem';
  let library = null; /* a promise of window.niivue */
  let shown = null; /* one at a time: browsers have few WebGL contexts to give */

  async function unpack(element) {
    const packed = Uint8Array.from(atob(element.textContent), c => c.charCodeAt(0));
    const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream('gzip'));
    return new Response(stream).text();
  }

  async function start() {
    const script = document.createElement('script');
    script.textContent = await unpack(document.getElementById('niivue'));
    document.head.append(script);
    if (!window.niivue) throw new Error('its script was refused');
    return window.niivue;
  }

  function close() {
    if (!shown) return;
    const {nv, box, button} = shown;
    shown = null;
    button.setAttribute('aria-expanded', 'false');
    nv.cleanup();
    const gl = nv.gl && nv.gl.getExtension('WEBGL_lose_context');
    if (gl) gl.loseContext();
    box.remove();
  }

  /* As in the pictures a small z is faint. A mesh has no transparent colours: they are mixed with the grey of a brain. */
  const GREY = 200, ZFULL = 3;
  const over = (c, z) => c.map(x => Math.round(GREY + (x - GREY) * Math.min(1, z / ZFULL) ** 2));

  /* The colours of the page, from 0 to the largest z on either side; nothing below `from`. */
  function colour(nv, {colours, zmax, meshes}, from) {
    const half = (colours.length - 1) / 2, I = Array.from({length: 256}, (_, i) => i);
    for (const [name, sign] of [['more', 1], ['less', -1]]) {
      const ramp = I.map(i => over(colours[Math.round(half + sign * half * i / 255)], meshes ? i / 255 * zmax : Infinity));
      nv.addColormap(name, {I, R: ramp.map(c => c[0]), G: ramp.map(c => c[1]), B: ramp.map(c => c[2]),
        A: I.map(i => i === 0 || i / 255 * zmax < from ? 0 : 255)});
    }
  }

  /* mm of the largest |z| in a NIfTI of kronormViewer. */
  function peak(buffer) {
    const h = new DataView(buffer), z = new Float32Array(buffer, 352);
    const dim = [42, 44].map(at => h.getInt16(at, true));
    let best = 0;
    for (let i = 0; i < z.length; i++) if (Math.abs(z[i]) > Math.abs(z[best]) || Number.isNaN(z[best])) best = i;
    const at = [best % dim[0], Math.floor(best / dim[0]) % dim[1], Math.floor(best / dim[0] / dim[1]), 1];
    return [280, 296, 312].map(row => at.reduce((sum, x, i) => sum + x * h.getFloat32(row + 4 * i, true), 0));
  }

  async function volumes(nv, NVImage, card, space) {
    const ground = await window.kronormViewer.nifti(card, 'ground');
    const z = await window.kronormViewer.nifti(card, 'z');
    nv.addVolume(await NVImage.loadFromUrl({url: ground, name: 'ground.nii', colormap: 'gray', colorbarVisible: false}));
    nv.addVolume(await NVImage.loadFromUrl({url: z, name: 'z.nii', colormap: 'more', colormapNegative: 'less',
      cal_min: 0, cal_max: space.zmax}));
    nv.scene.crosshairPos = nv.mm2frac(peak(z));
  }

  /* Meshes have slots of their own for the two signs; cal_minNeg and cal_maxNeg stay out of it, NaN: NiiVue takes them
   * in another order there than for volumes. Nothing of a layer is NaN: it would be black. */
  async function meshes(nv, NVMesh, viewer, space) {
    const made = await window.kronormMeshes(viewer.dataset.card, space);
    let most = 0;
    for (const m of made) {
      const mesh = new NVMesh(m.xyz, m.corner, m.side, m.colour, 1, true, nv.gl);
      mesh.layers.push({name: 'z', values: m.z, nFrame4D: 1, frame4D: 0, outlineBorder: 0, opacity: 1,
        global_min: -space.zmax, global_max: space.zmax, cal_min: 0, cal_max: space.zmax, cal_minNeg: NaN,
        cal_maxNeg: NaN, colormap: 'more', colormapNegative: 'less', useNegativeCmap: true, colormapInvert: false,
        isTransparentBelowCalMin: true, colormapType: 1 /* colours from 0, shown from cal_min */,
        colorbarVisible: false, showLegend: false});
      nv.addMesh(mesh);
      const peak = m.z.reduce((a, z) => Math.max(a, Math.abs(z)), 0);
      if (peak > most) {
        most = peak;
        nv.setRenderAzimuthElevation(m.side === 'left' ? 270 : 90, 10); /* from there */
      }
    }
    for (const box of viewer.querySelectorAll('.viewer-mesh')) nv.meshes[box.dataset.mesh].visible = box.checked;
  }

  /* Only what is at least `from`, and only meshes that are asked for. */
  function again(nv, viewer, space) {
    const from = Number(viewer.querySelector('.viewer-threshold').value);
    if (!viewer.classList.contains('meshes')) {
      colour(nv, space, from);
      nv.updateGLVolume();
      return;
    }
    viewer.querySelector('.viewer-from').textContent = from.toFixed(1);
    for (const box of viewer.querySelectorAll('.viewer-mesh')) nv.meshes[box.dataset.mesh].visible = box.checked;
    for (const mesh of nv.meshes) {
      mesh.layers[0].cal_min = Math.min(from, space.zmax - 0.01);
      mesh.updateMesh(nv.gl);
    }
    nv.drawScene();
  }

  /* Before NiiVue's own keys, which ask for a volume. */
  function turn(nv, event) {
    event.stopImmediatePropagation();
    const [a, e] = {ArrowLeft: [5, 0], ArrowRight: [-5, 0], ArrowUp: [0, 5], ArrowDown: [0, -5]}[event.key] || [];
    if (a === undefined || event.altKey || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    nv.setRenderAzimuthElevation(nv.scene.renderAzimuth + a, nv.scene.renderElevation + e);
  }

  function canvasIn(box, words) {
    const canvas = document.createElement('canvas');
    canvas.tabIndex = 0;
    canvas.setAttribute('role', 'img');
    canvas.setAttribute('aria-label', words);
    const frame = document.createElement('div'); /* NiiVue paints what it is in black */
    frame.className = 'niivue-frame';
    frame.style.height = HEIGHT;
    frame.append(canvas);
    box.prepend(frame);
    return canvas;
  }

  async function show(viewer, box, button) {
    if (!document.createElement('canvas').getContext('webgl2'))
      throw new Error('it needs WebGL2, which this browser does not have');
    library = library || start();
    const {Niivue, NVImage, NVMesh} = await library;
    const surface = viewer.classList.contains('meshes');
    const canvas = canvasIn(box, surface ? 'The map on the surface. Drag, or use the arrows, to turn it.' :
      'The map in three slices and in 3D. Drag to turn it.');
    const space = JSON.parse(document.getElementById('viewer-space').textContent);
    const nv = new Niivue({dragAndDropEnabled: false, isColorbar: !surface, show3Dcrosshair: !surface, crosshairWidth: 1,
      crosshairWidthUnit: 'mm', isNearestInterpolation: true, multiplanarShowRender: 1,
      multiplanarForceRender: true, loadingText: '', logLevel: 'error', ...surface && {isOrientCube: true}});
    shown = {nv, box, button, viewer, space};
    await nv.attachToCanvas(canvas);
    colour(nv, space, surface ? 0 : Number(viewer.querySelector('.viewer-threshold').value));
    if (surface) {
      canvas.addEventListener('keydown', event => turn(nv, event), true);
      nv.setSliceType(nv.sliceTypeRender);
      await meshes(nv, NVMesh, viewer, space);
      again(nv, viewer, space);
    } else {
      await volumes(nv, NVImage, viewer.dataset.card, space);
      nv.setSliceType(nv.sliceTypeMultiplanar);
    }
    nv.drawScene();
  }

  async function press(viewer, button) {
    const surface = viewer.classList.contains('meshes');
    const open = shown && shown.button === button;
    close();
    if (open) return;
    const box = document.createElement('div'), words = document.createElement('p');
    box.className = 'niivue';
    words.setAttribute('role', 'status');
    words.textContent = 'Starting NiiVue ...';
    box.append(words);
    viewer.append(box);
    button.setAttribute('aria-expanded', 'true');
    try {
      await show(viewer, box, button);
      words.textContent = (surface ? 'NiiVue: drag to turn the brain, or use the arrow keys.' :
        'NiiVue: drag to turn the head, click in a slice to move.') + ' Orange: more than expected, blue: less.';
    } catch (error) {
      close();
      box.replaceChildren(words);
      viewer.append(box);
      words.textContent = `NiiVue cannot run here: ${error.message}. The ${surface ? 'picture shows' : 'slices show'} the same map.`;
    }
  }

  for (const viewer of document.querySelectorAll('.viewer')) {
    const button = document.createElement('button'), surface = viewer.classList.contains('meshes');
    button.type = 'button';
    button.className = 'niivue-open';
    button.textContent = surface ? 'Turn it in 3D (NiiVue)' : 'NiiVue, in 3D';
    button.setAttribute('aria-expanded', 'false');
    button.addEventListener('click', () => press(viewer, button));
    viewer.querySelector('.viewer-controls').append(' ', button);
    if (surface) viewer.hidden = false;
    viewer.addEventListener('input', () => {
      if (shown && shown.viewer === viewer && shown.nv.gl) again(shown.nv, viewer, shown.space);
    });
  }
})();
