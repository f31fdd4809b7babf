'use strict';
/* Meshes of the page and maps on them, as report/viewer_mesh.c and report/viewer_pack.c put them there, for NiiVue. */
window.kronormMeshes = (() => {
  const read = {}; /* promises by the id of the element: meshes are the same for all cards */

  async function bytes(id) {
    const packed = Uint8Array.from(atob(document.getElementById(id).textContent), c => c.charCodeAt(0));
    const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream('gzip'));
    return new Uint8Array(await new Response(stream).arrayBuffer());
  }

  async function sums(id) {
    const b = await bytes(id);
    for (let i = 1; i < b.length; i++) b[i] += b[i - 1];
    return b;
  }

  async function numbers(id) {
    const b = await bytes(id), n = b.length / 4, out = new Int32Array(n);
    for (let i = 0, sum = 0; i < n; i++) {
      const u = b[i] | b[n + i] << 8 | b[2 * n + i] << 16 | b[3 * n + i] << 24;
      sum = sum + (u >>> 1 ^ -(u & 1)) | 0;
      out[i] = sum;
    }
    return out;
  }

  const once = (id, how) => read[id] = read[id] || how(id);

  /* Of mesh m: xyz in mm, corners of triangles, the response of each vertex, a colour for each. */
  async function mesh(m, {vertices: n, scale}) {
    const [packed, corner, response, grey] = await Promise.all([once(`mesh${m}-xyz`, numbers),
      once(`mesh${m}-corner`, numbers), once(`mesh${m}-response`, numbers), once(`mesh${m}-grey`, sums)]);
    const xyz = new Float32Array(3 * n), colour = new Uint8Array(4 * n);
    for (let i = 0; i < 3 * n; i++) xyz[i] = packed[i % 3 * n + Math.floor(i / 3)] * scale;
    for (let v = 0; v < n; v++) colour.set([grey[v], grey[v], grey[v], 255], 4 * v);
    return {xyz, corner: Uint32Array.from(corner), response, colour};
  }

  /* Inflated hemispheres lie around one middle, within each other: side by side, GAP mm between them. */
  const GAP = 4;
  function apart([left, right]) {
    let inner = -Infinity, other = Infinity;
    for (let i = 0; i < left.xyz.length; i += 3) inner = Math.max(inner, left.xyz[i]);
    for (let i = 0; i < right.xyz.length; i += 3) other = Math.min(other, right.xyz[i]);
    const shift = (inner + GAP - other) / 2;
    if (inner - other <= GAP) return; /* they lie as in a head */
    for (let i = 0; i < left.xyz.length; i += 3) left.xyz[i] -= shift;
    for (let i = 0; i < right.xyz.length; i += 3) right.xyz[i] += shift;
  }

  /* Meshes with the z of a card at every vertex; 0 where there is none. */
  return async (card, space) => {
    const z = await sums('z' + card);
    const all = await Promise.all(space.meshes.map(async (about, m) => {
      const made = await mesh(m, about);
      made.side = about.side;
      made.z = Float32Array.from(made.response, t => {
        const tenths = t < 0 ? space.missing : z[t] << 24 >> 24;
        return tenths === space.missing ? 0 : tenths * space.step;
      });
      return made;
    }));
    if (all.length === 2) apart(all);
    return all;
  };
})();
