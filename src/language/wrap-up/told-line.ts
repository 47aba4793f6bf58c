/** A line of a summary, the turn where it stands, and the turns that prove it. */
export type ToldLine = { text: string; turn: number; turns?: readonly number[] };
