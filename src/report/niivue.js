'use strict';
/* NiiVue on the map of a card. It lies packed in the page, is unpacked when somebody first asks for it, and runs
 * because the page's policy names its hash. It gets the same map as the slices (kronormViewer.nifti), so that one
 * page cannot show two. Where it cannot run a sentence says so, and the slices remain. */
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

  /* The colours of the page, from 0 to the largest z on either side; nothing below `from`. */
  function colour(nv, {colours, zmax}, from) {
    const half = (colours.length - 1) / 2, I = Array.from({length: 256}, (_, i) => i);
    for (const [name, sign] of [['more', 1], ['less', -1]]) {
      const ramp = I.map(i => colours[Math.round(half + sign * half * i / 255)]);
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

  async function show(viewer, box, button) {
    if (!document.createElement('canvas').getContext('webgl2'))
      throw new Error('it needs WebGL2, which this browser does not have');
    library = library || start();
    const {Niivue, NVImage} = await library;
    const canvas = document.createElement('canvas');
    canvas.tabIndex = 0;
    canvas.setAttribute('role', 'img');
    canvas.setAttribute('aria-label', 'The map in three slices and in 3D. Drag to turn it.');
    const frame = document.createElement('div'); /* NiiVue paints what it is in black */
    frame.className = 'niivue-frame';
    frame.style.height = HEIGHT;
    frame.append(canvas);
    box.prepend(frame);
    const threshold = viewer.querySelector('.viewer-threshold');
    const space = JSON.parse(document.getElementById('viewer-space').textContent);
    const nv = new Niivue({dragAndDropEnabled: false, isColorbar: true, show3Dcrosshair: true, crosshairWidth: 1,
      crosshairWidthUnit: 'mm', isNearestInterpolation: true, multiplanarShowRender: 1,
      multiplanarForceRender: true, loadingText: '', logLevel: 'error'});
    shown = {nv, box, button};
    await nv.attachToCanvas(canvas);
    colour(nv, space, Number(threshold.value));
    await volumes(nv, NVImage, viewer.dataset.card, space);
    threshold.addEventListener('input', () => {
      if (!shown || shown.nv !== nv) return;
      colour(nv, space, Number(threshold.value));
      nv.updateGLVolume();
    });
    nv.setSliceType(nv.sliceTypeMultiplanar);
    nv.drawScene();
  }

  async function press(viewer, button) {
    const again = shown && shown.button === button;
    close();
    if (again) return;
    const box = document.createElement('div'), words = document.createElement('p');
    box.className = 'niivue';
    words.setAttribute('role', 'status');
    words.textContent = 'Starting NiiVue ...';
    box.append(words);
    viewer.append(box);
    button.setAttribute('aria-expanded', 'true');
    try {
      await show(viewer, box, button);
      words.textContent = 'NiiVue: drag to turn the head, click in a slice to move. Orange: more than expected, blue: less.';
    } catch (error) {
      close();
      box.replaceChildren(words);
      viewer.append(box);
      words.textContent = `NiiVue cannot run here: ${error.message}. The slices show the same map.`;
    }
  }

  for (const viewer of document.querySelectorAll('.viewer')) {
    const button = document.createElement('button');
    button.type = 'button';
    button.className = 'niivue-open';
    button.textContent = 'NiiVue, in 3D';
    button.setAttribute('aria-expanded', 'false');
    button.addEventListener('click', () => press(viewer, button));
    viewer.querySelector('.viewer-controls').append(' ', button);
  }
})();
