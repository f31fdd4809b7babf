'use strict';
/* The viewer of slices: three planes through one point, on 2D canvases. kronormViewer(root) fills a
 * <div class="viewer" data-card="K"> that report/viewer/viewer.c wrote and shows it. viewer.c describes the data: volumes
 * along left-right, back-front, feet-head, so right on the canvas is right in the head. */
window.kronormViewer = (() => {
  const ZFULL = 3; /* as in the mosaics: alpha = min(1, |z| / 3)^2 */
  const NAMES = ['sagittal', 'coronal', 'axial'];
  const ACROSS = [1, 0, 0]; /* axes of the head along the canvas, by the axis looked along */
  const UP = [2, 2, 1];
  const SIZE = 320; /* pixels of the canvas along the longest axis */

  let space = null; /* a promise of what all cards share */

  async function unpack(id) {
    const text = atob(document.getElementById(id).textContent);
    const packed = Uint8Array.from(text, c => c.charCodeAt(0));
    const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream('gzip'));
    return new Uint8Array(await new Response(stream).arrayBuffer());
  }

  /* The sum of what came before it, mod 256. */
  function undoDifferences(bytes) {
    for (let i = 1; i < bytes.length; i++) bytes[i] += bytes[i - 1];
    return bytes;
  }

  async function readSpace() {
    const s = JSON.parse(document.getElementById('viewer-space').textContent);
    s.n = s.dim[0] * s.dim[1] * s.dim[2];
    s.stride = [1, s.dim[0], s.dim[0] * s.dim[1]];
    s.size = [0, 1, 2].map(i => Math.hypot(s.affine[i], s.affine[4 + i], s.affine[8 + i]));
    const bits = await unpack('viewer-mask');
    s.mask = new Uint8Array(s.n);
    for (let i = 0; i < s.n; i++) s.mask[i] = bits[i >> 3] >> (i & 7) & 1;
    s.ground = document.getElementById('viewer-ground') ?
      undoDifferences(await unpack('viewer-ground')) : null;
    return s;
  }

  /* z of a card as a volume of int8; `missing` where there is none. */
  async function readZ(s, card) {
    const inMask = undoDifferences(await unpack('z' + card));
    const z = new Int8Array(s.n).fill(s.missing);
    for (let i = 0, k = 0; i < s.n; i++) if (s.mask[i]) z[i] = inMask[k++] << 24 >> 24;
    return z;
  }

  async function load(card) {
    space = space || readSpace();
    const s = await space;
    return {s, z: await readZ(s, card)};
  }

  const toMm = (s, at) => [0, 4, 8].map(r =>
    s.affine[r] * at[0] + s.affine[r + 1] * at[1] + s.affine[r + 2] * at[2] + s.affine[r + 3]);

  function peakOf(s, z) {
    let best = 0, most = -1;
    for (let i = 0; i < s.n; i++) {
      if (z[i] !== s.missing && Math.abs(z[i]) > most) { most = Math.abs(z[i]); best = i; }
    }
    return [best % s.dim[0], Math.floor(best / s.stride[1]) % s.dim[1], Math.floor(best / s.stride[2])];
  }

  /* Colour of z, and how opaque it is, over a grey; into 4 bytes. */
  function paint(v, i, grey, to, at) {
    const z = v.z[i] === v.s.missing ? 0 : v.z[i] * v.s.step;
    const size = Math.abs(z), levels = v.s.colours.length;
    const alpha = size < v.threshold || size === 0 ? 0 : Math.min(1, size / ZFULL) ** 2;
    const level = Math.round((Math.max(-1, Math.min(1, z / v.s.zmax)) + 1) / 2 * (levels - 1));
    for (let c = 0; c < 3; c++) to[at + c] = grey + alpha * (v.s.colours[level][c] - grey);
    to[at + 3] = 255;
  }

  function drawPlane(v, plane) {
    const {s} = v, {axis, canvas} = plane, a = ACROSS[axis], u = UP[axis];
    const w = s.dim[a], h = s.dim[u], image = new ImageData(w, h);
    for (let y = 0; y < h; y++) {
      for (let x = 0; x < w; x++) {
        const i = v.at[axis] * s.stride[axis] + x * s.stride[a] + (h - 1 - y) * s.stride[u];
        const grey = v.background && s.ground ? s.ground[i] * 0.75 : s.mask[i] ? 70 : 0;
        paint(v, i, grey, image.data, 4 * (y * w + x));
      }
    }
    plane.buffer.getContext('2d').putImageData(image, 0, 0);
    const g = canvas.getContext('2d');
    g.imageSmoothingEnabled = false;
    g.drawImage(plane.buffer, 0, 0, canvas.width, canvas.height);
    const x = (v.at[a] + 0.5) / w * canvas.width, y = (h - v.at[u] - 0.5) / h * canvas.height;
    g.strokeStyle = '#7CFC7C';
    g.beginPath();
    g.moveTo(x, 0); g.lineTo(x, y - 6); g.moveTo(x, y + 6); g.lineTo(x, canvas.height);
    g.moveTo(0, y); g.lineTo(x - 6, y); g.moveTo(x + 6, y); g.lineTo(canvas.width, y);
    g.stroke();
    letters(v, g, axis, canvas);
  }

  function letters(v, g, axis, canvas) {
    const [left, right] = axis === 0 ? ['P', 'A'] : ['L', 'R'];
    if (!v.s.sides) return;
    g.font = '14px sans-serif';
    g.fillStyle = '#fff';
    g.textAlign = 'left';
    g.fillText(left, 4, 16);
    g.textAlign = 'right';
    g.fillText(right, canvas.width - 4, 16);
  }

  function draw(v) {
    const i = v.at[0] + v.at[1] * v.s.stride[1] + v.at[2] * v.s.stride[2];
    const mm = toMm(v.s, v.at).map(x => Math.round(x)).join(', ').replace(/-/g, '\u2212');
    const z = (v.z[i] * v.s.step).toFixed(1).replace('-', '\u2212');
    const here = `${mm} mm: ` + (v.s.mask[i] && v.z[i] !== v.s.missing ? `z ${z}` : 'no response');
    v.where.textContent = here + (v.s.thinned ? ' (every second voxel is in the page)' : '');
    v.from.textContent = v.threshold.toFixed(1);
    for (const plane of v.planes) {
      drawPlane(v, plane);
      plane.canvas.setAttribute('aria-label', `${NAMES[plane.axis]} slice at ${here}`);
    }
  }

  /* Many moves, one drawing. */
  function later(v) {
    if (v.waiting) return;
    v.waiting = true;
    requestAnimationFrame(() => { v.waiting = false; draw(v); });
  }

  function move(v, axis, to) {
    v.at[axis] = Math.max(0, Math.min(v.s.dim[axis] - 1, to));
    later(v);
  }

  function onKey(v, axis, event) {
    const a = ACROSS[axis], u = UP[axis];
    const step = {ArrowLeft: [a, -1], ArrowRight: [a, 1], ArrowDown: [u, -1], ArrowUp: [u, 1],
      PageDown: [axis, -1], PageUp: [axis, 1]}[event.key];
    if (event.altKey || event.ctrlKey || event.metaKey || (!step && event.key !== 'Home')) return;
    event.preventDefault();
    if (step) move(v, step[0], v.at[step[0]] + step[1]);
    else { v.at = peakOf(v.s, v.z); later(v); }
  }

  function onPoint(v, {axis, canvas}, event) {
    const box = canvas.getBoundingClientRect(), a = ACROSS[axis], u = UP[axis];
    move(v, a, Math.floor((event.clientX - box.left) / box.width * v.s.dim[a]));
    move(v, u, Math.floor((box.bottom - event.clientY) / box.height * v.s.dim[u]));
  }

  function makePlane(v, canvas) {
    const axis = Number(canvas.dataset.axis), a = ACROSS[axis], u = UP[axis];
    const scale = SIZE / Math.max(...v.s.dim.map((d, i) => d * v.s.size[i]));
    const plane = {axis, canvas, buffer: document.createElement('canvas')};
    canvas.width = Math.max(24, Math.round(v.s.dim[a] * v.s.size[a] * scale));
    canvas.height = Math.max(24, Math.round(v.s.dim[u] * v.s.size[u] * scale));
    plane.buffer.width = v.s.dim[a];
    plane.buffer.height = v.s.dim[u];
    canvas.addEventListener('keydown', event => onKey(v, axis, event));
    canvas.addEventListener('pointerdown', event => {
      canvas.setPointerCapture(event.pointerId);
      onPoint(v, plane, event);
    });
    canvas.addEventListener('pointermove', event => { if (event.buttons & 1) onPoint(v, plane, event); });
    return plane;
  }

  function connect(root, v) {
    const find = name => root.querySelector('.viewer-' + name);
    v.where = find('where');
    v.from = find('from');
    v.threshold = Number(find('threshold').value);
    v.background = true;
    v.planes = Array.from(root.querySelectorAll('.viewer-plane'), canvas => makePlane(v, canvas));
    find('threshold').addEventListener('input', event => {
      v.threshold = Number(event.target.value);
      later(v);
    });
    find('peak').addEventListener('click', () => { v.at = peakOf(v.s, v.z); later(v); });
    if (find('background')) find('background').addEventListener('change', event => {
      v.background = event.target.checked;
      later(v);
    });
  }

  async function show(root) {
    if (root.dataset.ready) return;
    root.dataset.ready = 'yes';
    root.hidden = false;
    root.querySelector('.viewer-where').textContent = 'Reading the map ...';
    try {
      const v = await load(root.dataset.card);
      v.at = peakOf(v.s, v.z);
      connect(root, v);
      draw(v);
    } catch (error) {
      root.querySelector('.viewer-where').textContent = 'The viewer cannot run here: ' + error.message;
    }
  }

  return show;
})();
