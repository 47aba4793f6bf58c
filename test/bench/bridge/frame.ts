/** The contents of one frame of the bench, so that the sink can check each byte of it and its age. */
export const frameBytes = 160;

/** The rest of a frame by its number; both sides know it. */
export const fillers = Array.from({ length: 128 }, (_, number) => {
  const rest = Buffer.alloc(frameBytes - 16);
  for (let at = 0; at < rest.length; at++) rest[at] = (number * 31 + at * 7) & 0x7f;
  return rest;
});

/** Microseconds of the machine's monotonic clock: the same in every process. */
export function nowMicros(): number {
  return Number(process.hrtime.bigint() / 1_000n);
}

export function writeFrame(into: Buffer, leg: number, number: number): void {
  into.writeDoubleLE(nowMicros(), 0);
  into.writeUInt32LE(number, 8);
  into.writeUInt32LE(leg, 12);
  into.set(fillers[number & 127] ?? into, 16);
}

/** The confidence of a final carries the microsecond at which it was sent, modulo this, so that its way can be timed. */
export const confidenceWraps = 1_000_000_000;
