"use strict";
// Codec: the packed text of a case becomes numbers again; the other side is packing.py.

/** Return the bytes that a base64 text stands for. */
function bytesOf(text) {
  if (Uint8Array.fromBase64) return Uint8Array.fromBase64(text);
  const binary = atob(text);
  const bytes = new Uint8Array(binary.length);
  for (let i = 0; i < bytes.length; i++) bytes[i] = binary.charCodeAt(i);
  return bytes;
}

/** Return the content of packed text: base64 of gzip. */
async function unpack(text) {
  const stream = new Blob([bytesOf(text)]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

/** Reads one array after the other from bytes that were sorted by significance. */
class SectionReader {
  constructor(bytes) {
    this.bytes = bytes;
    this.position = 0;
  }

  take(Kind, count) {
    const size = Kind.BYTES_PER_ELEMENT;
    const sorted = new Uint8Array(count * size);
    for (let place = 0; place < size; place++) {
      const from = this.position + place * count;
      for (let i = 0; i < count; i++) sorted[i * size + place] = this.bytes[from + i];
    }
    this.position += count * size;
    return new Kind(sorted.buffer);
  }
}

let halfFloats = null;

/** Return the table from the 16 bits of a half float to its value. */
function halfTable() {
  if (halfFloats) return halfFloats;
  halfFloats = new Float64Array(65536);
  for (let bits = 0; bits < 65536; bits++) {
    const sign = bits & 0x8000 ? -1 : 1;
    const exponent = (bits >> 10) & 31;
    const fraction = (bits & 1023) / 1024;
    halfFloats[bits] = sign * (exponent ? 2 ** (exponent - 15) * (1 + fraction) : 2 ** -14 * fraction);
  }
  return halfFloats;
}

/** Return the values of one row of half floats, stored as bit patterns or as their differences. */
function restoreRow(patterns, row, length, scale, differences) {
  const table = halfTable();
  const values = new Float64Array(length);
  let bits = 0;
  for (let i = 0; i < length; i++) {
    bits = ((differences ? bits : 0) + patterns[row * length + i]) & 0xffff;
    values[i] = table[bits] * scale;
  }
  return values;
}
