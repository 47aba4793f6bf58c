/** Pictures in between, so that a long recording shows that it is on its way. */
const drawEveryBytes = 4_000_000;

/**
 * The loudest sample of each stretch of a 16-bit WAV, channel by channel, read as it arrives: an hour of
 * sound passes through without being held.
 */
export async function peaksOf(address, bins, signal, onProgress) {
  const response = await fetch(address, { signal, cache: 'no-store' });
  if (!response.ok) throw new Error(`the answer was ${response.status}`);
  const reader = response.body.getReader();
  let rest = new Uint8Array(0);
  let wave;
  let sinceDrawn = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    let bytes = joined(rest, value);
    rest = new Uint8Array(0);
    if (!wave) {
      wave = waveOf(bytes, Number(response.headers.get('content-length')), bins);
      if (!wave) {
        rest = bytes;
        continue;
      }
      bytes = bytes.subarray(wave.dataAt);
    }
    const whole = bytes.length - (bytes.length % wave.frameBytes);
    addPeaks(wave, bytes.subarray(0, whole));
    rest = bytes.slice(whole);
    sinceDrawn += whole;
    if (sinceDrawn > drawEveryBytes) {
      sinceDrawn = 0;
      onProgress(wave.peaks);
    }
  }
  if (!wave) throw new Error('it is no WAV file');
  return wave.peaks;
}

function joined(first, second) {
  if (first.length === 0) return second;
  const both = new Uint8Array(first.length + second.length);
  both.set(first);
  both.set(second, first.length);
  return both;
}

/** Undefined until the header is there up to its data. */
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

function addPeaks(wave, bytes) {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const { channels } = wave.peaks;
  for (let at = 0; at < bytes.length; at += wave.frameBytes) {
    const bin = Math.min(channels[0].length - 1, Math.floor(wave.frame++ / wave.framesPerBin));
    for (let channel = 0; channel < channels.length; channel++) {
      const level = Math.abs(view.getInt16(at + channel * 2, true)) / 32768;
      if (level > channels[channel][bin]) channels[channel][bin] = level;
    }
  }
}
