/** Weaker attention is raised to this value. Otherwise one token that is almost inaudible could displace all others. */
const leastAttention = 0.003;

/**
 * Finds the frame of audio that each token was read from. No frame lies before the frame of the previous token.
 * `attention` has a row for each token: the weight that the token gives to every frame. For most tokens the strongest
 * frame is right. When a word is said twice, a row may be strongest at the wrong occurrence, so the best path through
 * all rows decides.
 */
export function alignedFrames(attention: readonly Float32Array[]): number[] {
  const frames = attention[0]?.length ?? 0;
  let scores = new Float64Array(frames);
  const best: Int32Array[] = [];
  for (const row of attention) {
    const next = new Float64Array(frames);
    const from = new Int32Array(frames);
    let before = 0; // the best frame of the previous token, up to this frame
    for (let frame = 0; frame < frames; frame++) {
      if ((scores[frame] ?? 0) > (scores[before] ?? 0)) before = frame;
      from[frame] = before;
      next[frame] = (scores[before] ?? 0) + Math.log(Math.max(leastAttention, row[frame] ?? 0));
    }
    scores = next;
    best.push(from);
  }
  let frame = 0;
  for (let at = 1; at < frames; at++) if ((scores[at] ?? 0) > (scores[frame] ?? 0)) frame = at;
  const aligned: number[] = [];
  for (const from of best.toReversed()) {
    aligned.unshift(frame);
    frame = from[frame] ?? 0;
  }
  return aligned;
}
