/** Seconds to the millisecond, and other figures as exactly: what is told has no digits that nobody measured. */
export const round3 = (value: number): number => Math.round(value * 1_000) / 1_000;
