/**
 * Rounds seconds to the millisecond, and other figures to the same precision: nothing is reported with digits that
 * nobody measured.
 */
export const round3 = (value: number): number => Math.round(value * 1_000) / 1_000;
