import type * as Yaml from 'yaml';
import { reasonOf } from '../lib/errors.ts';
import { yaml } from '../lib/yaml.ts';

/** The way to a value in a file: names of keys, and numbers of items. */
type MistakePlace = readonly (string | number)[];
export type PlacedMistake = { place: MistakePlace; reason: string };
/** A mistake as its writer sees it in an editor. Lines begin with 1. */
export type LinedMistake = { line: number; reason: string };

/** The mistakes of a file that a person wrote. */
export class RuleFileError extends Error {
  readonly mistakes: readonly PlacedMistake[];

  constructor(mistakes: readonly PlacedMistake[]) {
    super(mistakes.map(({ reason }) => reason).join('\n'));
    this.name = 'RuleFileError';
    this.mistakes = mistakes;
  }
}

/** The mistakes that an error names, each with the line where it stands. */
export function linedMistakes(text: string, error: unknown): LinedMistake[] {
  const { LineCounter, parseDocument, YAMLParseError } = yaml();
  if (error instanceof YAMLParseError) {
    const [reason = ''] = error.message.split(/ at line \d+, column \d+|\n/, 1);
    return [{ line: error.linePos?.[0].line ?? 1, reason }];
  }
  if (!(error instanceof RuleFileError)) return [{ line: 1, reason: reasonOf(error) }];
  // A file without a place for its mistake may be one that no parser gets through.
  if (error.mistakes.every(({ place }) => place.length === 0))
    return error.mistakes.map(({ reason }) => ({ line: 1, reason }));
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines });
  return error.mistakes.map(({ place, reason }) => {
    const offset = offsetOf(document, place);
    return { line: offset === undefined ? 1 : Math.max(1, lines.linePos(offset).line), reason };
  });
}

/** The key at this place, or the item; what is missing stands where it should have been. */
function offsetOf(document: Yaml.Document, place: MistakePlace): number | undefined {
  const { isMap, isNode, isScalar } = yaml();
  for (let length = place.length; length > 0; length--) {
    const parent = document.getIn(place.slice(0, length - 1), true);
    const last = place[length - 1];
    if (isMap(parent))
      for (const { key } of parent.items)
        if (isScalar(key) && String(key.value) === String(last)) return key.range?.[0];
    const node = document.getIn(place.slice(0, length), true);
    if (isNode(node) && node.range) return node.range[0];
  }
  return undefined;
}
