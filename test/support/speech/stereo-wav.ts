/** A stereo WAV in which the sides take turns, three seconds each, as two people do. */
export function stereoWav(seconds: number, rateHz = 8_000): Buffer {
  const frames = seconds * rateHz;
  const file = Buffer.alloc(44 + frames * 4);
  file.write('RIFF', 0, 'latin1');
  file.writeUInt32LE(file.length - 8, 4);
  file.write('WAVEfmt ', 8, 'latin1');
  file.writeUInt32LE(16, 16);
  file.writeUInt16LE(1, 20);
  file.writeUInt16LE(2, 22);
  file.writeUInt32LE(rateHz, 24);
  file.writeUInt32LE(rateHz * 4, 28);
  file.writeUInt16LE(4, 32);
  file.writeUInt16LE(16, 34);
  file.write('data', 36, 'latin1');
  file.writeUInt32LE(frames * 4, 40);
  for (let frame = 0; frame < frames; frame++) {
    const second = frame / rateHz;
    const side = Math.floor(second / 3) % 2;
    const swell = Math.abs(Math.sin(second * 5)) * Math.abs(Math.sin(second * 1.3));
    const sample = Math.round(Math.sin(second * 2 * Math.PI * 220) * swell * 16_000);
    file.writeInt16LE(sample, 44 + frame * 4 + side * 2);
  }
  return file;
}
