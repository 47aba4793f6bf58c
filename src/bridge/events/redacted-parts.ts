import type { Covered } from '../../language/redaction/redact.ts';

/**
 * A part of an utterance (a sentence, an entity) with what was covered in the whole of it; undefined when
 * the part is not in the utterance as it stands. Pure.
 */
export function coverPart(
  part: string,
  raw: string,
  covered: readonly Covered[],
): string | undefined {
  const from = part === '' ? -1 : raw.indexOf(part);
  if (from < 0) return undefined;
  const to = from + part.length;
  let text = '';
  let at = from;
  for (const { start, end, shown } of covered) {
    if (end <= from || start >= to) continue;
    text += raw.slice(at, Math.max(at, start));
    // A mask is as long as what it hides: only the part's own share of it.
    const own = raw.slice(Math.max(start, from), Math.min(end, to));
    text += shown.startsWith('[') ? shown : own.replace(/\S/gu, '#');
    at = Math.min(end, to);
  }
  return text + raw.slice(at, to);
}

/** A translation or a normalised entity says covered digits in its own spelling: they are covered there too. */
export function coverFollowing(text: string, raw: string, covered: readonly Covered[]): string {
  if (covered.length === 0) return text;
  return text.replace(/(?<![_\d])\d(?:[\s.-]*\d)+/g, (run) => {
    const digits = digitsOf(run);
    const over = covered.find(({ start, end }) => {
      const hidden = digitsOf(raw.slice(start, end));
      return hidden.length > 1 && (hidden.includes(digits) || digits.includes(hidden));
    });
    if (over === undefined) return run;
    return over.shown.startsWith('[') ? over.shown : run.replace(/\S/g, '#');
  });
}

function digitsOf(text: string): string {
  return text.replace(/\D/g, '');
}
