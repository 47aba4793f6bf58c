/** @typedef {{ channels: Float32Array[], seconds: number }} Peaks */
/** @typedef {{ dataAt: number, frameBytes: number, framesPerBin: number, frame: number, peaks: Peaks }} Wave */

/** An hour of sound is read in pieces of this size, and only one is held at a time. */
const pieceBytes = 4_194_304;

/**
 * The loudest sample in each interval of a 16-bit WAV, for each channel. `onProgress` is called after each piece.
 * @param {string} address
 * @param {number} bins
 * @param {AbortSignal} signal
 * @param {(peaks: Peaks) => void} onProgress
 * @returns {Promise<Peaks>}
 */
export async function peaksOf(address, bins, signal, onProgress) {
  /** @type {Uint8Array} */
  let rest = new Uint8Array(0);
  /** @type {Wave | undefined} */
  let wave;
  let at = 0;
  let total = Infinity;
  while (at < total) {
    const piece = await pieceFrom(address, at, signal);
    total = piece.total;
    at += piece.bytes.length;
    if (piece.bytes.length === 0) break;
    let bytes = joined(rest, piece.bytes);
    if (!wave) {
      wave = waveOf(bytes, total, bins);
      if (!wave) throw new Error('it is no WAV file');
      bytes = bytes.subarray(wave.dataAt);
    }
    const whole = bytes.length - (bytes.length % wave.frameBytes);
    addPeaks(wave, bytes.subarray(0, whole));
    rest = bytes.slice(whole);
    onProgress(wave.peaks);
  }
  if (!wave) throw new Error('it is empty');
  return wave.peaks;
}

/**
 * @param {string} address
 * @param {number} at
 * @param {AbortSignal} signal
 */
async function pieceFrom(address, at, signal) {
  const range = `bytes=${at}-${at + pieceBytes - 1}`;
  const response = await fetch(address, { signal, cache: 'no-store', headers: { range } });
  if (!response.ok) throw new Error(`the answer was ${response.status}`);
  const bytes = new Uint8Array(await response.arrayBuffer());
  const total = /\/(\d+)$/.exec(response.headers.get('content-range') ?? '')?.[1];
  return { bytes, total: total === undefined ? at + bytes.length : Number(total) };
}

/**
 * @param {Uint8Array} first
 * @param {Uint8Array} second
 */
function joined(first, second) {
  if (first.length === 0) return second;
  const both = new Uint8Array(first.length + second.length);
  both.set(first);
  both.set(second, first.length);
  return both;
}

/**
 * Reads the WAV header. Undefined if it leads to no data.
 * @param {Uint8Array} bytes
 * @param {number} fileBytes
 * @param {number} bins
 * @returns {Wave | undefined}
 */
function waveOf(bytes, fileBytes, bins) {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  let format;
  for (let at = 12; at + 8 <= bytes.length;) {
    const name = String.fromCharCode(...bytes.subarray(at, at + 4));
    const length = view.getUint32(at + 4, true);
    if (name === 'fmt ' && at + 24 <= bytes.length)
      format = {
        channels: view.getUint16(at + 10, true),
        rate: view.getUint32(at + 12, true),
        bits: view.getUint16(at + 22, true),
      };
    if (name === 'data') return newWave(format, at + 8, Math.max(0, fileBytes - at - 8), bins);
    at += 8 + length + (length % 2);
  }
  return undefined;
}

/**
 * @param {{ channels: number, rate: number, bits: number } | undefined} format
 * @param {number} dataAt
 * @param {number} dataBytes
 * @param {number} bins
 * @returns {Wave}
 */
function newWave(format, dataAt, dataBytes, bins) {
  if (format?.bits !== 16) throw new Error('it is not 16-bit sound');
  const frameBytes = format.channels * 2;
  const frames = dataBytes / frameBytes;
  const channels = Array.from({ length: format.channels }, () => new Float32Array(bins));
  return {
    dataAt,
    frameBytes,
    framesPerBin: Math.max(1, frames / bins),
    frame: 0,
    peaks: { channels, seconds: frames / format.rate },
  };
}

/**
 * @param {Wave} wave
 * @param {Uint8Array} bytes
 */
function addPeaks(wave, bytes) {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const { channels } = wave.peaks;
  for (let at = 0; at < bytes.length; at += wave.frameBytes) {
    const bin = Math.floor(wave.frame++ / wave.framesPerBin);
    for (const [channel, peaks] of channels.entries()) {
      const level = Math.abs(view.getInt16(at + channel * 2, true)) / 32768;
      const last = Math.min(peaks.length - 1, bin);
      if (level > (peaks[last] ?? 0)) peaks[last] = level;
    }
  }
}
